import type { PendingApproval } from '../core/call/approval.ts';
import { approvalPending } from '../core/call/approval-pending.ts';
import { isNamedByProgram } from '../core/call/caller.ts';
import type { Call, Caller } from '../core/call.ts';
import { HeddleError } from '../core/errors.ts';
import { withNumbersAsText } from '../core/exact-numbers.ts';
import type { ApprovalStatus } from '../core/records/approval.ts';
import type { Heddle } from '../heddle.ts';
import { checkOptions, type OptionKeys } from './check-options.ts';
import type { ApprovalResponse, HostOptions } from './host-input.ts';
import { asApprover } from './program.ts';

const RESPONSE_KEYS: OptionKeys<ApprovalResponse> = { approve: true, by: true, note: true, content: true };

/**
 * Asks the program about the approval that its call waits for. Resolves once the approval is settled. Throws
 * APPROVAL_PENDING if the program does not decide, may not decide, or is one of several approvers. If a rule lists names of
 * the program, it is asked again until enough of them have decided.
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
  if (!pending.byRequester && !pending.approvers.some(isNamedByProgram)) throw approvalPending(call, pending);
  const status = await decideByHost(heddle, { by: call.caller, id: pending.id, host, signal });
  if (status === undefined || status === 'pending') throw approvalPending(call, pending);
}

export interface HostDecision {
  readonly by: Caller;
  readonly id: string;
  readonly host: HostOptions;
  readonly signal: AbortSignal;
}

/** Asks the program about a pending approval while it may decide. Returns the last status; undefined if it does not decide. */
export async function decideByHost(
  { approvals }: Pick<Heddle, 'approvals'>,
  { by, id, host, signal }: HostDecision,
): Promise<ApprovalStatus | undefined> {
  const { onApprovalRequest } = host;
  if (!onApprovalRequest) return undefined;
  const approval = withNumbersAsText(await approvals.get(by, id));
  if (approval.status !== 'pending' || approval.decidable === false) return approval.status;
  const response = await onApprovalRequest(approval, { signal });
  if (response === undefined) return undefined;
  const {
    approve,
    by: name,
    note,
    content,
  } = checkOptions('the response of onApprovalRequest', response, RESPONSE_KEYS);
  if (typeof approve !== 'boolean') {
    throw new HeddleError('USAGE_INVALID', 'The response of `onApprovalRequest` has no `approve` of true or false.', {
      fix: 'Return `{ approve: true }`, `{ approve: false, note }`, or nothing to leave it pending.',
    });
  }
  await approvals.decide(name === undefined ? by : asApprover(name), id, {
    verdict: approve ? 'approve' : 'reject',
    ...(approve ? note !== undefined && { note } : { note: note ?? 'The program rejected it.' }),
    ...(content !== undefined && { content }),
  });
  return decideByHost({ approvals }, { by, id, host, signal });
}
