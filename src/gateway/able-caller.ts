import { abilitiesKey } from '../core/abilities.ts';
import type { Abilities, Caller } from '../core/call.ts';
import type { Change } from '../core/server-status.ts';

const able = new WeakMap<Caller, Map<number, Caller>>();

/**
 * The caller with what their client can be asked, which decides what they are shown. The same object for the same
 * abilities: the pages that somebody has seen are remembered by it.
 */
export function ableCaller(caller: Caller, can: Abilities): Caller {
  const known = able.get(caller) ?? new Map<number, Caller>();
  able.set(caller, known);
  const key = abilitiesKey(can);
  const same = known.get(key) ?? { ...caller, can };
  known.set(key, same);
  return same;
}

/** Whether a change is one for clients that can be asked this: some are shown what others are not. */
export const concerns = ({ detail }: Change, can: Abilities | undefined): boolean =>
  detail.abilities === undefined || detail.abilities === abilitiesKey(can);
