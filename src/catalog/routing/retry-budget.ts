import type { Clock } from '../../core/time.ts';

/** Limits retries, so that they do not overload failing servers. */
export interface RetryBudget {
  /** Counts a call. */
  count(): void;
  /** Returns true if no retry is allowed now. */
  isSpent(): boolean;
  /** Counts a retry. */
  take(): void;
}

const WINDOW_MS = 10_000;
const SLICES = 10;
const SLICE_MS = WINDOW_MS / SLICES;
const SHARE = 0.2;
const AT_LEAST = 10;

/** Allows retries for 20 % of the calls of the last 10 s, and at least 10. */
export function retryBudget(clock: Clock): RetryBudget {
  const calls = new Uint32Array(SLICES);
  const retries = new Uint32Array(SLICES);
  let current = Math.floor(clock() / SLICE_MS);

  /** Returns the current slice, after clearing those that have expired. */
  function sliceOfNow(): number {
    const now = Math.floor(clock() / SLICE_MS);
    if (now - current >= SLICES || now < current) {
      calls.fill(0);
      retries.fill(0);
      current = now; // Also when the clock was set back.
    }
    for (; current < now; current++) {
      calls[(current + 1) % SLICES] = 0;
      retries[(current + 1) % SLICES] = 0;
    }
    return now % SLICES;
  }

  return {
    count() {
      const slice = sliceOfNow();
      calls[slice] = (calls[slice] ?? 0) + 1;
    },
    isSpent() {
      sliceOfNow();
      return sum(retries) >= Math.max(AT_LEAST, Math.floor(SHARE * sum(calls)));
    },
    take() {
      const slice = sliceOfNow();
      retries[slice] = (retries[slice] ?? 0) + 1;
    },
  };
}

function sum(slices: Uint32Array): number {
  let total = 0;
  for (const count of slices) total += count;
  return total;
}
