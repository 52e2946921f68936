import { realTimer, type Timer } from '../../core/time.ts';
import type { StatementOptions } from './database.ts';
import { DatabaseFailure } from './database-failure.ts';

/** The end of a call: its timeout or its cancellation, whichever comes first. */
export interface Deadline {
  readonly timeoutMs: number;
  readonly timer: Timer;
  /** The failure of the call after its end; undefined before. */
  failure(): DatabaseFailure | undefined;
  /** Waits for a promise until the end. Then it rejects, and the promise is left alone. */
  race<T>(promise: Promise<T>): Promise<T>;
  /** Calls back at the end. The returned function takes that back. */
  onEnd(callback: () => void): () => void;
  /** Removes timer and listener. */
  clear(): void;
}

/** Starts the time of a call. */
export function startDeadline(
  { timeoutMs, signal }: Pick<StatementOptions, 'timeoutMs' | 'signal'>,
  timer: Timer = realTimer,
): Deadline {
  const callbacks = new Set<() => void>();
  let failure: DatabaseFailure | undefined;
  const end = (reason: DatabaseFailure) => {
    failure ??= reason;
    for (const callback of callbacks) callback();
    callbacks.clear();
  };
  const onAbort = () => end(new DatabaseFailure('CANCELLED', 'The call was cancelled. The statement was ended.'));
  const stop = timer(timeoutMs, () => {
    const text = `The statement did not end within ${timeoutMs} ms and was cancelled. Make it smaller.`;
    end(new DatabaseFailure('TIMED_OUT', text));
  });
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();

  const onEnd = (callback: () => void) => {
    if (failure) callback();
    else callbacks.add(callback);
    return () => void callbacks.delete(callback);
  };
  return {
    timeoutMs,
    timer,
    failure: () => failure,
    onEnd,
    race: (promise) =>
      new Promise((resolve, reject) => {
        const forget = onEnd(() => reject(failure));
        promise.then(resolve, reject).finally(forget);
      }),
    clear() {
      stop();
      signal.removeEventListener('abort', onAbort);
    },
  };
}
