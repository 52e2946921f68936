import type { Call } from '../call.ts';
import { realTimer, repeatEvery, type Timer } from '../time.ts';
import type { PendingApproval } from './approval.ts';

// Clients that reset their timeout on progress have timeouts of a minute and more.
const PROGRESS_MS = 10_000;
// A server reports greater numbers when the call goes on: the progress of a call has to increase.
export const PROGRESS_STEP = 1e-6;

/** Describes the wait for an approver: the progress of a request, the status message of a task. */
export const waitingMessage = ({ id, approvers }: Pick<PendingApproval, 'id' | 'approvers'>) =>
  `Waiting for ${approvers.join(' or ')} to decide on the approval ${id}.`;

/** Sends progress at once and every 10 s. The updates of a subscription are no progress. Returns how to end that. */
export function reportWaiting(
  { kind, onProgress }: Pick<Call, 'kind' | 'onProgress'>,
  approval: PendingApproval,
  timer: Timer = realTimer,
): () => void {
  if (!onProgress || kind === 'subscription') return () => {};
  let sent = 0;
  const report = () => onProgress({ progress: PROGRESS_STEP * sent++, message: waitingMessage(approval) });
  report();
  return repeatEvery(timer, PROGRESS_MS, report);
}
