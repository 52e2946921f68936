import type { JsonObject } from '../../core/call.ts';

// Beyond it a list is a mistake or an attack, and working it out would hold up everybody.
const MAX_LISTED = 10_000;

export interface Limit {
  readonly server: string;
  /** What it lists: `tools`. */
  readonly what: string;
  readonly max?: number;
}

/** What of a server's list is taken. */
export interface LimitedList {
  /** By name; those of one name together. */
  readonly items: readonly (readonly [string, readonly JsonObject[]])[];
  readonly problems: readonly string[];
}

/** As many as make sense: the first by name, or the server's order would decide. */
export function limitList(byName: ReadonlyMap<string, readonly JsonObject[]>, limit: Limit): LimitedList {
  const { server, what, max = MAX_LISTED } = limit;
  const all = [...byName];
  if (all.length <= max) return { items: all, problems: [] };
  return {
    items: all.sort(([a], [b]) => (a < b ? -1 : 1)).slice(0, max),
    problems: [
      `${server} lists ${all.length} ${what}; the first ${max} by name are used, the others do not exist here.`,
    ],
  };
}
