import { BoundedMap } from '../../core/bounded-map.ts';
import type { Caller } from '../../core/call.ts';

const MAX_CALLERS = 1000;

/**
 * Returns a function that maps equal callers to one object. Other caches, such as that of list pages, are keyed by this
 * object.
 */
export function callerCache(): (caller: Caller) => Caller {
  const known = new BoundedMap<string, Caller>(MAX_CALLERS);
  return function canonical(caller) {
    const { id, roles, via, profile, person } = caller;
    const key = JSON.stringify([id, roles, via, profile, person]);
    const same = known.get(key) ?? caller;
    known.set(key, same); // The least recently used is evicted first.
    return same;
  };
}
