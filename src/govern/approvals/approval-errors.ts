import { nameFor } from '../../core/call/name-for.ts';
import type { Caller, DecidedCall, ResolvedCall } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import type { Approval, ApprovalStatus } from '../../core/records/approval.ts';
import { refusedApprover } from '../../core/refused-approver.ts';
import { cutAndEscapeBreaks } from '../../core/text/cut-text.ts';
import type { ApprovalRefusal } from './next-approval.ts';

/** Creates the error of a call for which no approval can be requested. */
export function cannotRequest(call: DecidedCall, why: string, fix?: string): HeddleError {
  const { rule, reason } = call.decision;
  return new HeddleError('APPROVAL_REQUIRED', `${nameFor(call)} needs approval. ${reason} ${why}`, {
    fix: fix ?? `${toSentence(looseningOf(call))}.`,
    details: { rule, reason },
  });
}

const toSentence = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}`;

/** Returns the change of configuration that removes the need for approval. `permissions.allow` overrides only the mode. */
export function looseningOf({ kind, target, decision: { rule } }: DecidedCall): string {
  const { publicName, servers, facts } = target;
  if (facts.approval === 'always') return 'ask an approver: no rule allows it without an approval';
  if (rule.startsWith('mode ')) {
    return kind === 'tool' || kind === 'extension'
      ? `allow it with \`heddle permissions allow ${publicName}\``
      : `set \`permissions.readPermission\` of the server ${servers[0]} to allow`;
  }
  const [key = rule, pattern] = rule.split(': ');
  return pattern === undefined ? `change \`${key}\`` : `take ${pattern} out of \`${key}\``;
}

/** Creates the error of a call in an unattended installation, which waits for no approver. */
export const unattended = (call: DecidedCall): HeddleError =>
  cannotRequest(call, 'No approver is asked: `approvals.unattended` is true.');

/** Creates the error for an id that does not exist, or that the caller may not see. */
export const unknownApproval = (id: string): HeddleError =>
  new HeddleError('NAME_UNKNOWN', `There is no approval ${cutAndEscapeBreaks(id, 80)}.`, {
    fix: 'Run `heddle approvals list` to see those that are pending.',
  });

/** Creates the error for a continuation of another call. */
export const otherCall = ({ id }: Approval): HeddleError =>
  new HeddleError('INPUT_INVALID', `The approval ${id} was requested for another call.`, {
    fix: 'Repeat the call with exactly the same arguments, or call without the earlier state.',
    details: { approval: id },
  });

/** Creates the error for an approval whose call has run. */
export const alreadyUsed = ({ id, callId }: Approval): HeddleError =>
  new HeddleError('APPROVAL_SETTLED', `The approval ${id} was used by the call ${callId}. It covers one call.`, {
    fix: 'Call again without the earlier state to request another approval.',
    details: { approval: id, callId },
  });

/** Creates the error for a call that its client cancelled while it waited. */
export const cancelledCall = (call: ResolvedCall): HeddleError =>
  new HeddleError('CALL_CANCELLED', `The call of ${nameFor(call)} was cancelled while it waited for an approval.`, {
    fix: 'Nothing was sent. Call again to request another approval.',
  });

/** Creates the error for an approval that was used by a process that ended before its call was sent. */
export const nothingSent = (call: ResolvedCall, { id, callId }: Approval): HeddleError =>
  new HeddleError(
    'APPROVAL_SETTLED',
    `The approval ${id} of ${nameFor(call)} was used, but its call ended before anything was sent.`,
    { fix: 'Call again to request another approval.', details: { approval: id, callId } },
  );

/** Creates the error for an approval whose call runs in another process: its outcome is not known yet. */
export const runsElsewhere = (call: ResolvedCall, { id, callId }: Approval): HeddleError =>
  new HeddleError(
    'APPROVAL_SETTLED',
    `${nameFor(call)} was approved (${id}) and runs as the call ${callId} in another process. Its outcome is not known yet.`,
    { fix: 'Wait until that call has ended, then call again.', details: { approval: id, callId } },
  );

/** Creates the error for an approval whose call was sent and has no recorded end. */
export const unknownOutcome = (call: ResolvedCall, { id, callId, subject }: Approval): HeddleError =>
  new HeddleError(
    'OUTCOME_UNKNOWN',
    `${nameFor(call)} was approved (${id}) and sent as the call ${callId}; Heddle ended before the response came. It may have happened or not; it was not repeated.`,
    {
      fix: 'Check the system that the tool acts on, then call again to request another approval.',
      details: { approval: id, callId, servers: subject.servers },
    },
  );

// No call can use an approval in these states.
const OVER: readonly string[] = ['timeout', 'expired', 'void'] satisfies ApprovalStatus[];

/** Creates the error for a decision that has no effect. A settled approval names its decider. */
export function refusedDecision(approval: Approval, refusal: ApprovalRefusal, by: Caller): HeddleError {
  if (refusal === 'not-approver' || refusal === 'counted') return refusedApprover(approval, by);
  const { id, status, decisions } = approval;
  const last = decisions.at(-1);
  const decider = last === undefined ? '' : ` by ${last.by}`;
  const state = status === 'rejected' || status === 'approved' ? `is ${status}${decider}` : `is over: ${status}`;
  return new HeddleError('APPROVAL_SETTLED', `The approval ${id} ${state}.`, {
    fix: OVER.includes(status)
      ? 'Repeat the call to request another approval.'
      : `Run \`heddle approvals show ${id}\` to see who decided.`,
    details: { approval: id, status, ...(last && { by: last.by }) },
  });
}
