import { abilitiesKey } from '../core/abilities.ts';
import type { Abilities, Caller } from '../core/call.ts';
import { callerKey } from '../core/private-user.ts';
import type { Change } from '../core/server-status.ts';
import type { Era } from './asked.ts';

const able = new WeakMap<Caller, Map<string, Caller>>();

/**
 * The caller with what their client can be asked, which decides what they are shown. The same object for the same
 * abilities: the pages that somebody has seen are remembered by it.
 */
export function ableCaller(caller: Caller, can: Abilities, era: Era): Caller {
  const known = able.get(caller) ?? new Map<string, Caller>();
  able.set(caller, known);
  const key = `${era} ${abilitiesKey(can)}`;
  const same = known.get(key) ?? { ...caller, can, era };
  known.set(key, same);
  return same;
}

/** The client that a change may concern. */
export interface Listener {
  readonly callerId: string;
  readonly can: Abilities | undefined;
  readonly era: Era;
}

/** Tests whether a client sees a change: some lists are for one capability set, or for one private user. */
export function concerns({ detail }: Change, { callerId, can, era }: Listener): boolean {
  if (detail.user !== undefined) return detail.user === callerKey({ id: callerId, era }, can);
  return detail.abilities === undefined || detail.abilities === abilitiesKey(can);
}
