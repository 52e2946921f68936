import type { Clock } from './clock.ts';

/** Calls back once, after a while; calling what it returns calls it off. Passed in, so tests own time. */
export type Alarm = (delayMs: number, ring: () => void) => () => void;

/** All that depends on when something happens, or on chance. */
export interface Time {
  readonly clock: Clock;
  readonly alarm: Alarm;
  readonly random: () => number;
}

/** The real one. It never keeps the process alive. */
export const realAlarm: Alarm = (delayMs, ring) => {
  const timer = setTimeout(ring, delayMs).unref();
  return () => clearTimeout(timer);
};

/** Does something again and again, until what it returns is called. */
export function repeat(alarm: Alarm, intervalMs: number, task: () => void): () => void {
  let cancel = alarm(intervalMs, ring);
  function ring(): void {
    cancel = alarm(intervalMs, ring);
    task();
  }
  return () => cancel();
}
