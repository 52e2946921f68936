import { backoffMs, type Time } from '../../core/time.ts';

/** The wait before the next attempt to connect. */
export interface RetryTimer {
  /** The time of the next attempt, or of the last one. */
  readonly at: number | undefined;
  wait(attempt: number): void;
  cancel(): void;
}

/** Calls `onDue` after a delay that grows with the number of the attempt. */
export function retryTimer({ clock, timer, random }: Time, delayMs: number, onDue: () => void): RetryTimer {
  let at: number | undefined;
  let cancel = () => {};
  return {
    get at() {
      return at;
    },
    wait(attempt) {
      const waitMs = backoffMs(delayMs, attempt, random);
      at = clock() + waitMs;
      cancel = timer(waitMs, onDue);
    },
    cancel: () => cancel(),
  };
}
