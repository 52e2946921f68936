import type { CatalogEntry } from './entry.ts';

/** Returns a flag `looks-like: <name>` for each entry whose name can be confused with another. */
export function flagsOf(named: ReadonlyMap<string, CatalogEntry>): ReadonlyMap<CatalogEntry, readonly string[]> {
  const flags = new Map<CatalogEntry, readonly string[]>();
  for (const names of alike(named)) {
    // One flag per name, so that n look-alikes do not give n² flags.
    const [least, second] = names.sort() as [string, string];
    for (const name of names) {
      const entry = named.get(name) as CatalogEntry;
      const flag = `looks-like: ${name === least ? second : least}`;
      flags.set(entry, [...new Set(flags.get(entry)).add(flag)].sort());
    }
  }
  return flags;
}

/** Groups the names that look alike. */
function alike(named: ReadonlyMap<string, CatalogEntry>): Iterable<string[]> {
  const first = new Map<string, string>();
  const groups = new Map<string, string[]>();
  for (const [name, { looks }] of named) {
    for (const skeleton of looks) {
      const other = first.get(skeleton);
      if (other === undefined) first.set(skeleton, name);
      else if (groups.has(skeleton)) groups.get(skeleton)?.push(name);
      else groups.set(skeleton, [other, name]);
    }
  }
  return groups.values();
}
