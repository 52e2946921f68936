/** Calls back once, after a while; calling what it returns calls it off. Passed in, so tests own time. */
export type Timer = (delayMs: number, ring: () => void) => () => void;

/** All that depends on when something happens, or on chance. */
export interface Time {
  readonly clock: Clock;
  readonly timer: Timer;
  readonly random: () => number;
}

/** The real one. It never keeps the process alive. */
export const realTimer: Timer = (delayMs, ring) => {
  const timer = setTimeout(ring, delayMs).unref();
  return () => clearTimeout(timer);
};

/** Does something again and again, until what it returns is called. */
export function repeatEvery(alarm: Timer, intervalMs: number, task: () => void): () => void {
  let cancel = alarm(intervalMs, ring);
  function ring(): void {
    cancel = alarm(intervalMs, ring);
    task();
  }
  return () => cancel();
}

/** Milliseconds since the epoch. Passed in, so tests own time. */
export type Clock = () => number;

/**
 * Reads milliseconds since the epoch as of the start of this process, and never steps: for timeouts, lifetimes and
 * limits. `Date.now` is for what is written down, or compared with what another machine says.
 */
export const steadyClock: Clock = () => performance.timeOrigin + performance.now();

const JITTER = 0.25;

/** How long to wait before an attempt: longer each time, and never the same for all who lost the same server. */
export function backoffMs(delayMs: number, attempt: number, random: () => number): number {
  return Math.round(delayMs * attempt * (1 - JITTER + 2 * JITTER * random()));
}
