import { BoundedMap } from '../../core/bounded-map.ts';
import type { Caller } from '../../core/call.ts';

const MAX_KNOWN = 1000;

/**
 * Gives the same object for the same caller, whenever they come: what is remembered of somebody, such as the
 * pages they have seen, is kept by that object.
 */
export function callerCache(): (caller: Caller) => Caller {
  const known = new BoundedMap<string, Caller>(MAX_KNOWN);
  return function remember(caller) {
    const { id, roles, via, profile } = caller;
    const key = JSON.stringify([id, roles, via, profile]);
    const same = known.get(key) ?? caller;
    known.set(key, same); // The least recently used is evicted first.
    return same;
  };
}
