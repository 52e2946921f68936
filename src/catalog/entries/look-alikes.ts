import type { CatalogEntry } from './entry.ts';

/** For each offer that can be taken for another: a flag that names the other, on both sides. */
export function flagsOf(named: ReadonlyMap<string, CatalogEntry>): ReadonlyMap<CatalogEntry, readonly string[]> {
  const flags = new Map<CatalogEntry, readonly string[]>();
  for (const names of alike(named)) {
    // One other is enough to be warned, and keeps a crowd of look-alikes from growing by its square.
    const [least, second] = names.sort() as [string, string];
    for (const name of names) {
      const offer = named.get(name) as CatalogEntry;
      const flag = `looks-like: ${name === least ? second : least}`;
      flags.set(offer, [...new Set(flags.get(offer)).add(flag)].sort());
    }
  }
  return flags;
}

/** The names that look alike, together; most names look like no other and cost one entry in a map. */
function alike(named: ReadonlyMap<string, CatalogEntry>): Iterable<string[]> {
  const first = new Map<string, string>();
  const groups = new Map<string, string[]>();
  for (const [name, { looks }] of named) {
    for (const look of looks) {
      const other = first.get(look);
      if (other === undefined) first.set(look, name);
      else if (groups.has(look)) groups.get(look)?.push(name);
      else groups.set(look, [other, name]);
    }
  }
  return groups.values();
}
