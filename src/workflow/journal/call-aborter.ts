import type { RunContext } from './run-context.ts';
import type { StepSending } from './step-sending.ts';
import { orAborted } from './wait-for-person.ts';

/** The time that an aborted call has to end. */
const GRACE_MS = 10_000;

/** Aborts one call: when its step is cancelled, when its time is over, and when the execution is interrupted. */
export interface CallAborter {
  readonly signal: AbortSignal;
  reason(): 'cancelled' | 'timeout' | undefined;
  /** Returns the time at which the timeout of the step is over. */
  dueAt(): number | undefined;
  /** Waits for a result, after an abort for at most 10 s. */
  withGrace<T>(result: Promise<T>): Promise<T>;
  release(): void;
}

export function callAborter(
  { sleeps, interrupted, clock }: RunContext,
  { path, call, startedAt }: Pick<StepSending, 'path' | 'call' | 'startedAt'>,
): CallAborter {
  const controller = new AbortController();
  const { signal } = controller;
  let reason: 'cancelled' | 'timeout' | undefined;
  const abort = (why?: 'cancelled' | 'timeout') => {
    reason ??= why;
    controller.abort();
  };
  const onCancel = () => abort('cancelled');
  const onInterrupt = () => abort();
  if (call.signal.aborted) onCancel();
  if (interrupted.aborted) onInterrupt();
  call.signal.addEventListener('abort', onCancel, { once: true });
  interrupted.addEventListener('abort', onInterrupt, { once: true });
  const { timeoutMs: forMs } = call;
  const timeout = forMs === undefined ? undefined : sleeps.start({ from: startedAt, forMs, pausedBelow: path });
  void timeout?.elapsed.then(() => abort('timeout'));
  let grace: { cancel(): void } | undefined;

  /** Rejects once an aborted call has used its grace. */
  async function graceOver(): Promise<never> {
    await orAborted(new Promise(() => {}), signal);
    const sleeper = sleeps.start({ until: clock() + GRACE_MS });
    grace = sleeper;
    await sleeper.elapsed;
    throw new Error('The call did not end after its abort.');
  }

  return {
    signal,
    reason: () => reason,
    dueAt: () => timeout?.dueAt(),
    withGrace: (result) => Promise.race([result, graceOver()]),
    release() {
      call.signal.removeEventListener('abort', onCancel);
      interrupted.removeEventListener('abort', onInterrupt);
      timeout?.cancel();
      grace?.cancel();
    },
  };
}
