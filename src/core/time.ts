/** Calls back once after a delay. The returned function cancels it. A parameter, so that tests control time. */
export type Timer = (delayMs: number, callback: () => void) => () => void;

/** The sources of time and randomness. */
export interface Time {
  readonly clock: Clock;
  readonly timer: Timer;
  readonly random: () => number;
}

/** Runs on `setTimeout`, without keeping the process alive. */
export const realTimer: Timer = (delayMs, callback) => {
  const timer = setTimeout(callback, delayMs).unref();
  return () => clearTimeout(timer);
};

/** Runs a task at an interval until the returned function is called. */
export function repeatEvery(timer: Timer, intervalMs: number, task: () => void): () => void {
  let cancel = timer(intervalMs, repeat);
  function repeat(): void {
    cancel = timer(intervalMs, repeat);
    task();
  }
  return () => cancel();
}

/** Returns milliseconds since the epoch. A parameter, so that tests control time. */
export type Clock = () => number;

/**
 * Returns milliseconds since the epoch as counted from the start of the process. It never jumps when the system clock is
 * set, so it serves timeouts, lifetimes and limits. `Date.now` serves records and comparisons with other machines.
 */
export const steadyClock: Clock = () => performance.timeOrigin + performance.now();

/** Returns a clock that runs with the given one, and stands still for the moment in which that one is set back. */
export function monotonicClock(clock: Clock): Clock {
  let ahead = 0;
  let last = Number.NEGATIVE_INFINITY;
  return () => {
    const now = clock();
    if (now + ahead < last) ahead = last - now;
    last = now + ahead;
    return last;
  };
}

const JITTER = 0.25;

/** Returns the delay before an attempt: `delayMs` times the attempt, with 25 % jitter so that clients spread out. */
export function backoffMs(delayMs: number, attempt: number, random: () => number): number {
  return Math.round(delayMs * attempt * (1 - JITTER + 2 * JITTER * random()));
}
