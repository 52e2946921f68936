import { abortable } from '../../core/async/abortable.ts';

/** The longest delay of a timer. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export interface Wait {
  /** Default: 24 days. */
  readonly ms?: number | undefined;
  readonly signal: AbortSignal;
}

/** Waits for a result. Returns undefined when the time is over. The timer keeps the process alive. */
export async function waitAtMost<T>(
  { ms = MAX_TIMER_MS, signal }: Wait,
  wait: (signal: AbortSignal) => Promise<T>,
): Promise<T | undefined> {
  const over = new AbortController();
  const timer = setTimeout(() => over.abort(), Math.min(ms, MAX_TIMER_MS));
  const either = AbortSignal.any([signal, over.signal]);
  try {
    return await abortable(wait(either), either);
  } catch (thrown) {
    if (over.signal.aborted && !signal.aborted) return undefined;
    throw thrown;
  } finally {
    clearTimeout(timer);
    over.abort();
  }
}
