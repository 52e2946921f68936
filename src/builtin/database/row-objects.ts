import type { JsonObject } from '../../core/call.ts';
import type { Column, RowSet } from './database.ts';

/** Rows of a result as objects, by column name. */
export interface RowObjects {
  readonly columns: readonly Column[];
  readonly rows: readonly JsonObject[];
  readonly truncated: boolean;
}

/** Converts rows to objects. Ends before the row with which their JSON would exceed `maxBytes`. */
export function toRowObjects({ columns, rows, truncated }: RowSet, maxBytes: number): RowObjects {
  const names = uniqueNames(columns.map(({ name }) => name));
  const objects: JsonObject[] = [];
  let bytes = 0;
  for (const row of rows) {
    const object = Object.fromEntries(names.map((name, at) => [name, row[at] ?? null]));
    bytes += Buffer.byteLength(JSON.stringify(object));
    if (bytes > maxBytes) break;
    objects.push(object);
  }
  return {
    columns: columns.map(({ type }, at) => ({ name: names[at] ?? '', type })),
    rows: objects,
    truncated: truncated || objects.length < rows.length,
  };
}

/** Gives a repeated name the first free number: `id`, `id_2`. A column that is named `id_2` keeps its name. */
export function uniqueNames(names: readonly string[]): readonly string[] {
  const taken = new Set(names);
  // Readers of JSON refuse this key, or set a prototype with it.
  const used = new Set(['__proto__']);
  const next = new Map<string, number>();
  return names.map((name) => {
    if (!used.has(name)) {
      used.add(name);
      return name;
    }
    let count = next.get(name) ?? 2;
    while (taken.has(`${name}_${count}`)) count++;
    next.set(name, count + 1);
    taken.add(`${name}_${count}`);
    return `${name}_${count}`;
  });
}
