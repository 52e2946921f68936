import type { Call, Stage } from '../core/call.ts';
import type { Clock } from '../core/clock.ts';
import type { AuditLog } from '../store/audit-log.ts';
import { keptName } from './kept-name.ts';
import { observer } from './outcome.ts';

/**
 * Writes the closing record of every round of a call, those at names that do not exist included. A look at a task is
 * written down only when it shows something new.
 */
export function audit(log: AuditLog, clock: Clock = Date.now): Stage<Call> {
  const observed = observer();
  return function audit(call, next) {
    return observed(call, next, ({ outcome, server, durationMs }) => {
      const { kind, caller } = call;
      const at = clock();
      log.append(() => ({
        callId: call.id,
        phase: 'outcome',
        at,
        caller: caller.id,
        via: caller.via,
        name: keptName(call.name),
        detail: { ...(kind !== 'tool' && { kind }), outcome, server, durationMs, profile: caller.profile },
      }));
    });
  };
}
