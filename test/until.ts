import { setTimeout as wait } from 'node:timers/promises';

// Only a failing test waits this long. A slow machine must not fail a test.
const DEADLINE_MS = 60_000;

/** Polls a condition every 5 ms. After 60 s it throws an error that names `what`. */
export async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + DEADLINE_MS;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`Still not so after ${DEADLINE_MS} ms: ${what}`);
    await wait(5);
  }
}
