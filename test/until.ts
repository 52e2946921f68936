import { setTimeout as wait } from 'node:timers/promises';

// Only a failing test waits this long. A slow machine must not fail a test.
const DEADLINE_MS = 60_000;

const SHORTEST_MS = 5;
const LONGEST_MS = 50;

/**
 * Polls a condition, at first every 5 ms and later less often: what takes long usually needs the processor itself. After
 * 60 s it throws an error that names `what`.
 */
export async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const start = performance.now();
  while (!(await holds())) {
    const waited = performance.now() - start;
    if (waited > DEADLINE_MS) throw new Error(`Still not so after ${DEADLINE_MS} ms: ${what}`);
    await wait(Math.min(LONGEST_MS, Math.max(SHORTEST_MS, waited / 20)));
  }
}
