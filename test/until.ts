import { setTimeout as wait } from 'node:timers/promises';

// Only a failing test waits this long: a slow machine must never be the reason for a failure.
const DEADLINE_MS = 60_000;

/** Waits for something that happens in its own time, and fails with `what` when it does not. */
export async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + DEADLINE_MS;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`Still not so after ${DEADLINE_MS} ms: ${what}`);
    await wait(5);
  }
}
