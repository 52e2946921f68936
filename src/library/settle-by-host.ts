import type { PendingApproval } from '../core/call/approval.ts';
import { approvalPending } from '../core/call/approval-pending.ts';
import type { Call, Caller } from '../core/call.ts';
import { HeddleError } from '../core/errors.ts';
import { withNumbersAsText } from '../core/exact-numbers.ts';
import type { ApprovalStatus } from '../core/records/approval.ts';
import type { Heddle } from '../heddle.ts';
import { checkOptions, type OptionKeys } from './check-options.ts';
import type { ApprovalResponse, HostOptions } from './host-input.ts';

const RESPONSE_KEYS: OptionKeys<ApprovalResponse> = { approve: true, note: true, content: true };

/**
 * Asks the program about the approval that its call waits for. Resolves once the approval is settled. Throws
 * APPROVAL_PENDING if the program does not decide, may not decide, or is one of several approvers.
 */
export async function settleByHost(
  heddle: Pick<Heddle, 'approvals'>,
  call: Call,
  {
    pending,
    host,
    signal,
  }: { readonly pending: PendingApproval; readonly host: HostOptions; readonly signal: AbortSignal },
): Promise<void> {
  if (!pending.byRequester) throw approvalPending(call, pending);
  const status = await decideByHost(heddle, { by: call.caller, id: pending.id, host, signal });
  if (status === undefined || status === 'pending') throw approvalPending(call, pending);
}

export interface HostDecision {
  readonly by: Caller;
  readonly id: string;
  readonly host: HostOptions;
  readonly signal: AbortSignal;
}

/** Asks the program about a pending approval. Returns the status after its decision; undefined if it does not decide. */
export async function decideByHost(
  { approvals }: Pick<Heddle, 'approvals'>,
  { by, id, host: { onApprovalRequest }, signal }: HostDecision,
): Promise<ApprovalStatus | undefined> {
  if (!onApprovalRequest) return undefined;
  const approval = withNumbersAsText(await approvals.get(by, id));
  if (approval.status !== 'pending') return approval.status;
  const response = await onApprovalRequest(approval, { signal });
  if (response === undefined) return undefined;
  const { approve, note, content } = checkOptions('the response of onApprovalRequest', response, RESPONSE_KEYS);
  if (typeof approve !== 'boolean') {
    throw new HeddleError('USAGE_INVALID', 'The response of `onApprovalRequest` has no `approve` of true or false.', {
      fix: 'Return `{ approve: true }`, `{ approve: false, note }`, or nothing to leave it pending.',
    });
  }
  const { status } = await approvals.decide(by, id, {
    verdict: approve ? 'approve' : 'reject',
    ...(approve ? note !== undefined && { note } : { note: note ?? 'The program rejected it.' }),
    ...(content !== undefined && { content }),
  });
  return status;
}
