import type { PendingApproval } from '../core/call/approval.ts';
import { approvalPending } from '../core/call/approval-pending.ts';
import type { Call } from '../core/call.ts';
import { HeddleError } from '../core/errors.ts';
import { withNumbersAsText } from '../core/exact-numbers.ts';
import type { Heddle } from '../heddle.ts';
import { checkOptions, type OptionKeys } from './check-options.ts';
import type { ApprovalResponse, HostOptions } from './host-input.ts';

const RESPONSE_KEYS: OptionKeys<ApprovalResponse> = { approve: true, note: true };

/**
 * Asks the program about the approval that its call waits for. Resolves once the approval is settled. Throws
 * APPROVAL_PENDING if the program does not decide, may not decide, or is one of several approvers.
 */
export async function settleByHost(
  { approvals }: Pick<Heddle, 'approvals'>,
  call: Call,
  {
    pending,
    host,
    signal,
  }: { readonly pending: PendingApproval; readonly host: HostOptions; readonly signal: AbortSignal },
): Promise<void> {
  const { onApprovalRequest } = host;
  if (!onApprovalRequest || !pending.byRequester) throw approvalPending(call, pending);
  const approval = withNumbersAsText(await approvals.get(call.caller, pending.id));
  const response = await onApprovalRequest(approval, { signal });
  if (response === undefined) throw approvalPending(call, pending);
  const { approve, note } = checkOptions('the response of onApprovalRequest', response, RESPONSE_KEYS);
  if (typeof approve !== 'boolean') {
    throw new HeddleError('USAGE_INVALID', 'The response of `onApprovalRequest` has no `approve` of true or false.', {
      fix: 'Return `{ approve: true }`, `{ approve: false, note }`, or nothing to leave it pending.',
    });
  }
  const { status } = await approvals.decide(call.caller, pending.id, {
    verdict: approve ? 'approve' : 'reject',
    ...(approve ? note !== undefined && { note } : { note: note ?? 'The program rejected it.' }),
  });
  if (status === 'pending') throw approvalPending(call, pending);
}
