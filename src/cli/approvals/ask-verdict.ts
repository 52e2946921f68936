import type { Approval, ApprovalVerdict } from '../../core/records/approval.ts';
import { standingChoices } from '../../core/standing-choices.ts';
import { notice } from '../print/print-line.ts';
import { approvalText } from './print-approval.ts';

interface VerdictQuestion {
  readonly question: string;
  /** False if the user has chosen the standing approval already. */
  readonly offersStanding?: boolean;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Shows the whole approval and asks the user: no, once, or a standing approval with its end. Returns undefined for a no.
 * Ctrl-C throws CALL_CANCELLED.
 */
export async function askVerdict(
  approval: Approval,
  { question, offersStanding = true, signal }: VerdictQuestion,
): Promise<Pick<ApprovalVerdict, 'standing'> | undefined> {
  const [{ askKey }, { showWhole }] = await Promise.all([import('../input/ask.ts'), import('../print/show-whole.ts')]);
  const choices = offersStanding ? standingChoices(approval) : [];
  if (!(await showWhole(approvalText(approval, process.stderr), signal))) return undefined;
  for (const { key, text } of choices) notice(`  ${key}  ${text}`);
  const key = await askKey(question, ['y', ...choices.map((choice) => choice.key)], signal);
  if (key === 'y') return {};
  const choice = choices.find((one) => one.key === key);
  return choice && { standing: choice.wish };
}
