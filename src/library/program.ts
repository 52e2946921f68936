import { randomUUID } from 'node:crypto';
import { callerName, requireNameInProgram } from '../core/call/caller.ts';
import type { Caller } from '../core/call.ts';

/** The caller of all library calls: the program that embeds Heddle. */
export const PROGRAM: Caller = { id: 'library', roles: ['owner'], via: 'library', session: randomUUID() };

/** Returns the caller of a call by an agent of the program, or by the program itself. Throws USAGE_INVALID. */
export function asAgent(agent: string | undefined): Caller {
  if (agent === undefined) return PROGRAM;
  requireNameInProgram('agent', agent);
  return { ...PROGRAM, agent };
}

/** Returns the caller that decides in a name, without any role; without a name the program. Throws USAGE_INVALID. */
export function asApprover(by: string | undefined): Caller {
  if (by === undefined) return PROGRAM;
  requireNameInProgram('by', by);
  return { id: callerName({ id: PROGRAM.id, agent: by }), roles: [], via: 'library' };
}
