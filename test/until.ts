import { setTimeout as wait } from 'node:timers/promises';

/** Waits for something that happens in its own time, and fails with `what` when it does not. */
export async function until(what: string, holds: () => boolean | Promise<boolean>, withinMs = 5000): Promise<void> {
  const end = performance.now() + withinMs;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`Still not so after ${withinMs} ms: ${what}`);
    await wait(5);
  }
}
