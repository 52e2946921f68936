import type { DecidedCall } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import type { StoredApproval } from '../../store/approval-box.ts';
import { nothingSent, runsElsewhere, unknownOutcome } from './approval-errors.ts';
import type { ApprovalFlow } from './approval-flow.ts';
import { UNKNOWN_OUTCOME } from './next-approval.ts';

/** The outcome of a call whose process ended before it was sent. */
const NOT_SENT = 'not-sent';
/** The outcome of a call whose server waits for input. A continuation may still come, in any process. */
const UNFINISHED = 'input-required';
const MAX_RECORDS = 200;

/**
 * Checks how the call of a used approval ended. Throws once if that is unknown, so that nothing runs twice unnoticed: the
 * next call requests another approval. Returns the id of an earlier call that may have run.
 */
export async function requireKnownEnd(
  approval: StoredApproval,
  call: DecidedCall,
  flow: ApprovalFlow,
): Promise<string | undefined> {
  const { id, status, callId, outcome } = approval;
  if (status !== 'used' || callId === undefined) return undefined;
  if (outcome !== undefined) return outcome === UNKNOWN_OUTCOME ? callId : undefined;
  // The opening record of a read-only target is not durable, so its absence proves nothing.
  if (flow.running.has(callId) || call.target.facts.readOnly) return undefined;
  // Tested before the log is read: a process writes the closing record of a call while it is alive.
  const isAlive = approval.runner !== undefined && (await flow.runner.isAlive(approval.runner));
  const end = await recordedEnd(approval, callId, flow);
  if (end === UNFINISHED) return callId;
  const isOpen = end === NOT_SENT || end === UNKNOWN_OUTCOME;
  if (isOpen && isAlive) return requireNotedEnd(approval, call, flow);
  const { approval: stored } = await flow.apply(id, { kind: 'end', outcome: end });
  if (!isOpen || stored.outcome !== end) return undefined; // Its process may have noted the end meanwhile.
  if (end === NOT_SENT) throw nothingSent(call, approval);
  flow.audit.append({
    callId,
    phase: 'outcome',
    at: flow.clock(),
    caller: approval.requestedBy,
    via: approval.via,
    name: approval.subject.name,
    detail: { outcome: UNKNOWN_OUTCOME, approval: id, foundBy: call.id },
  });
  throw unknownOutcome(call, approval);
}

/** Throws if the call of a living process has no end. It may have been noted since the approval was read. */
async function requireNotedEnd(
  approval: StoredApproval,
  call: DecidedCall,
  flow: ApprovalFlow,
): Promise<string | undefined> {
  const { outcome, callId } = (await flow.apply(approval.id, { kind: 'time' })).approval;
  if (outcome === undefined) throw runsElsewhere(call, approval);
  return outcome === UNKNOWN_OUTCOME ? callId : undefined;
}

/** Reads from the audit log how a call or its last continuation ended. The newest record comes first. */
async function recordedEnd({ id }: StoredApproval, callId: string, { audit }: ApprovalFlow): Promise<string> {
  const records = await audit.search({ callId, limit: MAX_RECORDS });
  const opening = records.findIndex(
    ({ phase, detail: { approval } }) => phase === 'intent' && isObject(approval) && approval.id === id,
  );
  if (opening < 0) return NOT_SENT;
  // A refusal of a later attempt with the same id says nothing about the call that was sent.
  const isEnd = ({ phase, name, detail: { outcome } }: (typeof records)[number]) =>
    phase === 'outcome' &&
    !name.startsWith('approvals.') &&
    !/^(APPROVAL|PERMISSION|RATE|BUDGET)_/.test(String(outcome));
  const closing = records.slice(0, opening).find(isEnd);
  // The task of a server goes on without the process that polled it.
  const isOver = closing !== undefined && closing.detail.outcome !== 'working';
  return isOver ? String(closing.detail.outcome) : UNKNOWN_OUTCOME;
}
