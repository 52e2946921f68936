import type { JsonObject } from '../../core/call.ts';
import { cutText } from '../../core/text/cut-text.ts';
import type { Column, RowSet } from './database.ts';

/** Rows of a result as objects, by column name. */
export interface RowObjects {
  readonly columns: readonly Column[];
  readonly rows: readonly JsonObject[];
  readonly truncated: boolean;
}

/** A column of an expression is named after its text, which a caller makes as long as a statement may be. */
const LONGEST_NAME = 255;

/** Shortens the name and the type of a column. */
export const cutColumn = ({ name, type }: Column): Column => ({
  name: cutText(name, LONGEST_NAME),
  type: cutText(type, LONGEST_NAME),
});

/** Converts rows to objects. Ends before the row with which the JSON of columns and rows would exceed `maxBytes`. */
export function toRowObjects({ columns: found, rows, truncated }: RowSet, maxBytes: number): RowObjects {
  const cut = found.map(cutColumn);
  const names = uniqueNames(cut.map(({ name }) => name));
  const columns = cut.map(({ type }, at) => ({ name: names[at] ?? '', type }));
  const objects: JsonObject[] = [];
  let bytes = Buffer.byteLength(JSON.stringify(columns));
  for (const row of rows) {
    const object = Object.fromEntries(names.map((name, at) => [name, row[at] ?? null]));
    bytes += Buffer.byteLength(JSON.stringify(object));
    if (bytes > maxBytes) break;
    objects.push(object);
  }
  return { columns, rows: objects, truncated: truncated || objects.length < rows.length };
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
