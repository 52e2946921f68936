import type { UsedApproval } from '../core/call/approval.ts';
import { isTaskPoll } from '../core/call/task.ts';
import type { DecidedCall, Handler, JsonObject, Result, Stage } from '../core/call.ts';
import type { Clock } from '../core/time.ts';
import type { AuditLog, AuditRecord } from '../store/audit-log.ts';
import { openingRecord } from './opening-record.ts';
import type { Taints } from './policy/taints.ts';

export interface RecordIntentOptions {
  readonly clock?: Clock;
  /** The labels of sessions, if rules look at them. */
  readonly taints?: Taints | undefined;
}

/** The decision of the record, by the way in which the call was approved. */
const HOW = { self: 'self-approved', approved: 'approved', standing: 'standing-approved' } as const;

/**
 * Writes the opening audit record with the decision and its rule, and the cost of the call. A call that costs something,
 * or whose target is not read-only, waits until the record is durable; if it cannot be written, the call is refused.
 * Whatever passes here may reach a server, so the session is labelled here, too.
 */
export function recordIntent(
  log: AuditLog,
  { clock = Date.now, taints }: RecordIntentOptions = {},
): Stage<DecidedCall> {
  function recordOf(call: DecidedCall): () => AuditRecord {
    const { approval } = call;
    return openingRecord(call, clock(), approval && approvalDetail(approval));
  }

  const go = (call: DecidedCall, next: Handler<DecidedCall>) =>
    taints?.isTracked() ? taints.run(call, next) : next(call);

  async function recorded(call: DecidedCall, next: Handler<DecidedCall>): Promise<Result> {
    if (call.charge) await call.charge();
    await log.appendDurably(recordOf(call), call.fence);
    return await go(call, next);
  }

  return function recordIntent(call, next) {
    // The call that began the task was recorded; a poll changes nothing.
    if (isTaskPoll(call)) return go(call, next);
    if (call.charge || !call.target.facts.readOnly) return recorded(call, next);
    log.append(recordOf(call)()); // Built at once: an in-process server could change the arguments before the write.
    return go(call, next);
  };
}

const approvalDetail = ({ id, how, by }: UsedApproval): JsonObject => ({
  decision: HOW[how],
  ...(id !== undefined && { approval: { id, by } }),
});
