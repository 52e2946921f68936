import type { Caller } from '../../core/call.ts';
import type { Approval } from '../../core/records/approval.ts';
import type { CommandHeddle } from '../command-heddle.ts';
import { notice } from '../print/print-line.ts';
import { formContent } from './form-content.ts';

export interface ApprovalAtTerminal {
  readonly approvals: CommandHeddle['approvals'];
  readonly by: Caller;
  /** True if the caller has agreed to the steps beforehand, with `--yes`. */
  readonly yes?: boolean | undefined;
  /** The time to wait for a decision elsewhere; undefined to ask the user here. */
  readonly waitMs?: number | undefined;
  /** False if the user may not be asked, with `--json`. */
  readonly mayAsk: boolean;
  /** Runs something that writes to the terminal, below the steps of the run. */
  readonly aside: <T>(prompt: () => Promise<T>) => Promise<T>;
}

/**
 * Settles an approval that a run waits for. With `--yes` it approves, with a wait it leaves the decision to an approver
 * elsewhere, and otherwise it asks the user. Returns false if the approval is still pending. Leaving the prompt throws
 * CALL_CANCELLED.
 */
export async function decideAtTerminal(id: string, site: ApprovalAtTerminal, signal: AbortSignal): Promise<boolean> {
  const { approvals, by, yes, waitMs, mayAsk, aside } = site;
  const approval = await approvals.get(by, id);
  if (approval.status !== 'pending') return true;
  if (yes) {
    const { approveBeforehand } = await import('./approve-beforehand.ts');
    const reason = await approveBeforehand(approvals, by, approval);
    if (reason === undefined) return true;
    await aside(async () => notice(`--yes does not approve ${id}: ${reason}.`));
  }
  if (waitMs !== undefined) {
    const { waitAtMost } = await import('./wait-at-most.ts');
    const settled = await aside(() => {
      notice(`${approval.subject.name} waits for the approval ${id}.`);
      return waitAtMost({ ms: waitMs, signal }, (either) => approvals.settled(by, id, either));
    });
    return settled !== undefined && settled.status !== 'pending';
  }
  const { canAsk } = await import('../input/ask.ts');
  if (!mayAsk || approval.decidable === false || !canAsk()) return false;
  await aside(() => askUser(approval, site, signal));
  return true;
}

/** Shows the approval, and decides as the user says. */
async function askUser(approval: Approval, { approvals, by }: ApprovalAtTerminal, signal: AbortSignal): Promise<void> {
  const { id } = approval;
  const { askVerdict } = await import('./ask-verdict.ts');
  const verdict = await askVerdict(approval, { question: 'Approve it?', signal });
  if (!verdict) await approvals.decide(by, id, { verdict: 'reject', note: 'The user said no at the terminal.' });
  else {
    const content = await formContent(approval, undefined, signal);
    await approvals.decide(by, id, { verdict: 'approve', ...verdict, ...(content && { content }) });
  }
}
