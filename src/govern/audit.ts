import type { Call, Stage } from '../core/call.ts';
import type { Clock } from '../core/time.ts';
import type { AuditLog, AuditRecord } from '../store/audit-log.ts';
import { type Outcome, observer } from './outcome.ts';
import { truncateName } from './truncate-name.ts';

/** Writes the closing audit record of every attempt, unknown names included. A task poll is recorded only when its outcome is new. */
export function audit(log: AuditLog, clock: Clock = Date.now): Stage<Call> {
  const observed = observer();
  return function audit(call, next) {
    return observed(call, next, ({ outcome, server, mismatch, durationMs }) => {
      const { id, kind, caller, name } = call;
      log.append(
        recordLater({ id, kind, caller, name: truncateName(name), at: clock(), outcome, server, mismatch, durationMs }),
      );
    });
  };
}

/** The fields of a call that its record needs. A queued record keeps nothing else of the call in memory. */
interface Ended extends Outcome, Pick<Call, 'id' | 'kind' | 'caller' | 'name'> {
  readonly at: number;
}

const recordLater = (ended: Ended) => () => recordOf(ended);

function recordOf({ id, kind, caller, name, at, outcome, server, mismatch, durationMs }: Ended): AuditRecord {
  const { profile, agent } = caller;
  return {
    callId: id,
    phase: 'outcome',
    at,
    caller: caller.id,
    via: caller.via,
    name,
    detail: { ...(kind !== 'tool' && { kind }), outcome, server, mismatch, durationMs, profile, agent },
  };
}
