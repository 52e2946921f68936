import type { PendingApproval } from '../../core/call/approval.ts';
import { approvalPending } from '../../core/call/approval-pending.ts';
import type { Call } from '../../core/call.ts';
import { HeddleError, UpstreamError } from '../../core/errors.ts';
import type { CommandHeddle } from '../command-heddle.ts';
import { notice } from '../print/print-line.ts';

export interface WaitingCall {
  readonly approvals: CommandHeddle['approvals'];
  readonly call: Pick<Call, 'name' | 'caller' | 'signal'>;
  /** The time to wait for a decision elsewhere; undefined to ask the user here. */
  readonly waitMs?: number | undefined;
  /** False if the user may not be asked: with `--json`, or after the user has approved already. */
  readonly mayAsk: boolean;
}

/**
 * Settles an approval that a call of this terminal waits for. Returns true if the user approved the call here, and false
 * if an approver has decided elsewhere. Otherwise it throws, and the approval stays pending: APPROVAL_PENDING.
 */
export async function settleAtTerminal(approval: PendingApproval, waiting: WaitingCall): Promise<boolean> {
  const { approvals, call, waitMs, mayAsk } = waiting;
  if (waitMs !== undefined) {
    const { waitAtMost } = await import('./wait-at-most.ts');
    notice(`${call.name} waits for the approval ${approval.id} by ${approval.approvers.join(' or ')}.`);
    const { signal } = call;
    const settled = await waitAtMost({ ms: waitMs, signal }, (either) =>
      approvals.settled(call.caller, approval.id, either),
    ).catch((thrown: unknown) => interrupted(thrown, { approval, call }));
    if (settled && settled.status !== 'pending') return false;
    throw await stillPending(approval, waiting);
  }
  const { canAsk } = await import('../input/ask.ts');
  if (!mayAsk || !approval.byRequester || !canAsk()) throw await stillPending(approval, waiting);
  await approveHere(approval, waiting);
  return true;
}

/** Returns nothing if the gateway ended during the wait: the approval is still pending. Nothing was sent in any case. */
function interrupted(
  thrown: unknown,
  { approval: { id }, call }: Pick<WaitingCall, 'call'> & { readonly approval: PendingApproval },
): undefined {
  if (call.signal.aborted) {
    throw new HeddleError(
      'CALL_CANCELLED',
      `The wait for the approval ${id} was ended, and ${call.name} was not sent.`,
      {
        fix: 'Repeat the same call to go on with the approval.',
        details: { approval: id },
      },
    );
  }
  const isGatewayLost = thrown instanceof UpstreamError || (HeddleError.is(thrown) && thrown.code === 'CALL_CANCELLED');
  if (!isGatewayLost) throw thrown;
}

/** Shows the whole approval and asks the user. Throws APPROVAL_REJECTED for a no; then the approval is rejected. */
async function approveHere({ id }: PendingApproval, { approvals, call }: WaitingCall): Promise<void> {
  const { askVerdict } = await import('./ask-verdict.ts');
  const { caller, name, signal } = call;
  const verdict = await askVerdict(await approvals.get(caller, id), { question: 'Run it?', signal });
  if (verdict?.standing) await approvals.decide(caller, id, { verdict: 'approve', ...verdict });
  if (verdict) return;
  await approvals.decide(caller, id, { verdict: 'reject', note: 'The user said no at the terminal.' });
  throw new HeddleError('APPROVAL_REJECTED', `You said no, so ${name} was not called.`, {
    fix: 'Change the call, or wait 10 minutes to be asked about the same call again.',
    details: { approval: id },
  });
}

/** Creates APPROVAL_PENDING with the command that decides and the rule that asks. */
async function stillPending(pending: PendingApproval, { approvals, call }: WaitingCall): Promise<HeddleError> {
  const { id, byRequester } = pending;
  const fix = `Run \`heddle approvals approve ${id}\` in a terminal, then repeat the same call.`;
  const { code, message, fix: advice, details } = approvalPending(call, pending, byRequester && fix);
  const approval = await approvals.get(call.caller, id).catch(() => undefined); // The gateway may be gone.
  return new HeddleError(code, message, {
    fix: advice,
    details: { ...details, ...(approval && { rule: approval.rule }) },
  });
}
