import type { JsonObject } from '../../core/call.ts';

// A longer list is a mistake or an attack, and building it would block the process.
const MAX_LISTED = 10_000;

export interface Limit {
  readonly server: string;
  /** The kind of list for messages: `tools`. */
  readonly what: string;
  readonly max?: number;
}

/** The part of a server's list that is used. */
export interface LimitedList {
  /** Grouped by name. */
  readonly items: readonly (readonly [string, readonly JsonObject[]])[];
  readonly problems: readonly string[];
}

/** Limits a list to the first items by name, so that the server's order does not matter. */
export function limitList(byName: ReadonlyMap<string, readonly JsonObject[]>, limit: Limit): LimitedList {
  const { server, what, max = MAX_LISTED } = limit;
  const all = [...byName];
  if (all.length <= max) return { items: all, problems: [] };
  return {
    items: all.sort(([a], [b]) => (a < b ? -1 : 1)).slice(0, max),
    problems: [`${server} lists ${all.length} ${what}; the first ${max} by name are used, the others are ignored.`],
  };
}
