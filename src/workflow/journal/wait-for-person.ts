import { type ApprovalEnd, RunInterrupted } from '../run/durable.ts';
import { eventKeys } from './events.ts';
import type { RunContext } from './run-context.ts';

/** The longest time after which a run looks again for a decision whose signal was lost in a crash. */
const RECHECK_MS = 600_000;

/** Waits until an approval is settled. Holds nothing; the run may be suspended. */
export async function settledApproval(
  { parts, activity, events, clock }: RunContext,
  id: string,
  signal: AbortSignal,
): Promise<ApprovalEnd | undefined> {
  for (;;) {
    const next = events.next(eventKeys.approval(id));
    const state = await parts.approvals.state(id);
    if (state.kind === 'settled') return state.end;
    if (activity.isInterrupted) throw new RunInterrupted();
    if (signal.aborted) return undefined;
    const wakeAt = Math.min(state.expiresAt, clock() + RECHECK_MS);
    await activity.wait(orAborted(next, signal), () => wakeAt);
  }
}

/** Resolves with a promise or when the signal aborts. */
export function orAborted(promise: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = () => resolve();
    signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
    if (signal.aborted) resolve();
  });
}
