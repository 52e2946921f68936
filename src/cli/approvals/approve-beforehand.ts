import type { Caller } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import type { Approval } from '../../core/records/approval.ts';
import type { CommandHeddle } from '../command-heddle.ts';

const NOTE = 'Approved beforehand with --yes.';

/**
 * Approves a step of a run that was started with `--yes`, if this caller alone may approve it without reading it. Returns
 * the reason if it may not, and undefined once the approval is settled.
 */
export async function approveBeforehand(
  approvals: CommandHeddle['approvals'],
  by: Caller,
  approval: Approval,
): Promise<string | undefined> {
  const reason = reasonAgainst(approval);
  if (reason !== undefined) return reason;
  try {
    await approvals.decide(by, approval.id, { verdict: 'approve', note: NOTE });
  } catch (thrown) {
    if (HeddleError.from(thrown).code !== 'APPROVAL_SETTLED') throw thrown; // Another approver was faster.
  }
  return undefined;
}

/** Returns the reason why `--yes` does not approve an approval; undefined if it does. */
function reasonAgainst({ decidable, stages, subject }: Approval): string | undefined {
  const approvers = [...new Set(stages.flatMap((stage) => stage.approvers))];
  const needed = stages.reduce((sum, { need }) => sum + need, 0);
  if (decidable === false) return `it needs ${approvers.join(' or ')}`;
  if (needed > 1) return `it needs ${needed} decisions`;
  if (subject.form !== undefined) return 'it has a form to fill in';
  if (subject.kind === 'sampling') return 'a request to the model of a client is read first';
  return subject.alwaysAsks ? `each call of ${subject.name} is approved by itself` : undefined;
}
