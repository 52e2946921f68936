import type { Call, Stage } from '../core/call.ts';
import type { Clock } from '../core/time.ts';
import type { AuditLog, AuditRecord } from '../store/audit-log.ts';
import { type Outcome, observer } from './outcome.ts';
import { truncateName } from './truncate-name.ts';

/**
 * Writes the closing record of every round of a call, those at names that do not exist included. A look at a task is
 * written down only when it shows something new.
 */
export function audit(log: AuditLog, clock: Clock = Date.now): Stage<Call> {
  const observed = observer();
  return function audit(call, next) {
    return observed(call, next, ({ outcome, server, durationMs }) => {
      const { id, kind, caller, name } = call;
      log.append(recordLater({ id, kind, caller, name: truncateName(name), at: clock(), outcome, server, durationMs }));
    });
  };
}

/** As much of a call as its record tells: what waits to be written keeps nothing else alive. */
interface Ended extends Outcome, Pick<Call, 'id' | 'kind' | 'caller' | 'name'> {
  readonly at: number;
}

const recordLater = (ended: Ended) => () => recordOf(ended);

function recordOf({ id, kind, caller, name, at, outcome, server, durationMs }: Ended): AuditRecord {
  return {
    callId: id,
    phase: 'outcome',
    at,
    caller: caller.id,
    via: caller.via,
    name,
    detail: { ...(kind !== 'tool' && { kind }), outcome, server, durationMs, profile: caller.profile },
  };
}
