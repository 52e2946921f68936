import type { Caller } from '../../core/call.ts';

const MAX_KNOWN = 1000;

/**
 * Gives the same object for the same caller, whenever they come: what is remembered of somebody, such as the
 * pages they have seen, is kept by that object.
 */
export function callerCache(): (caller: Caller) => Caller {
  const known = new Map<string, Caller>();
  return function remember(caller) {
    const { id, roles, via, profile } = caller;
    const key = JSON.stringify([id, roles, via, profile]);
    const same = known.get(key) ?? caller;
    known.delete(key); // In order of last use.
    known.set(key, same);
    if (known.size > MAX_KNOWN) known.delete(known.keys().next().value as string);
    return same;
  };
}
