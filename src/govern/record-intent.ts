import { isTaskPoll } from '../core/call/task.ts';
import type { DecidedCall, Handler, Result, Stage } from '../core/call.ts';
import type { Clock } from '../core/time.ts';
import type { AuditLog, AuditRecord } from '../store/audit-log.ts';
import { openingRecord } from './opening-record.ts';
import { isSelfApproved } from './permit.ts';
import type { Taints } from './policy/taints.ts';

export interface RecordIntentOptions {
  readonly clock?: Clock;
  /** The labels of sessions, if rules look at them. */
  readonly taints?: Taints | undefined;
}

const SELF_APPROVED = { decision: 'self-approved' };

/**
 * Writes the opening audit record with the decision and its rule. A call to a target that is not read-only waits until
 * the record is durable; if it cannot be written, the call is refused. Whatever passes here may reach a server, so the
 * session is labelled here, too.
 */
export function recordIntent(
  log: AuditLog,
  { clock = Date.now, taints }: RecordIntentOptions = {},
): Stage<DecidedCall> {
  function recordOf(call: DecidedCall): () => AuditRecord {
    const isSelf = call.decision.effect === 'ask' && isSelfApproved(call);
    return openingRecord(call, clock(), isSelf ? SELF_APPROVED : undefined);
  }

  const go = (call: DecidedCall, next: Handler<DecidedCall>) =>
    taints?.isTracked() ? taints.run(call, next) : next(call);

  async function recorded(call: DecidedCall, next: Handler<DecidedCall>): Promise<Result> {
    await log.appendDurably(recordOf(call));
    return await go(call, next);
  }

  return function recordIntent(call, next) {
    // The call that began the task was recorded; a poll changes nothing.
    if (isTaskPoll(call)) return go(call, next);
    if (!call.target.facts.readOnly) return recorded(call, next);
    log.append(recordOf(call)()); // Built at once: an in-process server could change the arguments before the write.
    return go(call, next);
  };
}
