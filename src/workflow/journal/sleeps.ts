import type { Clock, Timer } from '../../core/time.ts';
import type { Pauses } from './pauses.ts';

const MAX_TIMER_MS = 2_147_483_647;

/** The end of a sleep: at a time, or some time after its start without the pauses below a path. */
export type SleepEnd =
  | { readonly until: number }
  | { readonly from: number; readonly forMs: number; readonly pausedBelow?: string | undefined };

export interface Sleeper {
  readonly elapsed: Promise<void>;
  /** Returns the time of its end; undefined while it is paused. */
  dueAt(): number | undefined;
  cancel(): void;
}

/** The sleeps of one execution. They share one timer. */
export interface Sleeps {
  start(end: SleepEnd): Sleeper;
  /** Computes the ends again, after a pause has begun or ended. */
  update(): void;
  close(): void;
}

interface Time {
  readonly clock: Clock;
  readonly timer: Timer;
  readonly pauses: () => Pauses;
}

/** Creates the sleeps of one execution. */
export function runSleeps({ clock, timer, pauses }: Time): Sleeps {
  const sleepers = new Map<() => number | undefined, () => void>();
  let armedFor = Number.POSITIVE_INFINITY;
  let disarm = () => {};

  function arm(at: number): void {
    if (at >= armedFor) return;
    disarm();
    armedFor = at;
    disarm = timer(Math.min(Math.max(at - clock(), 0), MAX_TIMER_MS), fire);
  }

  function fire(): void {
    armedFor = Number.POSITIVE_INFINITY;
    const now = clock();
    for (const [dueAt, wake] of sleepers) {
      const at = dueAt();
      if (at === undefined) continue;
      if (at > now) arm(at);
      else {
        sleepers.delete(dueAt);
        wake();
      }
    }
  }

  function dueOf(end: SleepEnd): number | undefined {
    if ('until' in end) return end.until;
    const { from, forMs, pausedBelow } = end;
    if (pausedBelow === undefined) return from + forMs;
    const pausedMs = pauses().pausedMs(pausedBelow, from);
    return pausedMs === undefined ? undefined : from + forMs + pausedMs;
  }

  return {
    start(end) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const dueAt = () => dueOf(end);
      sleepers.set(dueAt, resolve);
      const at = dueAt();
      if (at !== undefined) arm(at);
      return { elapsed: promise, dueAt, cancel: () => sleepers.delete(dueAt) };
    },
    update: fire,
    close() {
      sleepers.clear();
      disarm();
    },
  };
}
