import { expect } from 'vitest';

/** True in `npm run soak`, where tests also check time and memory. On a busy machine such checks fail without a fault. */
export const MEASURES = process.env.HEDDLE_TEST_SCALE === 'full';

/** Runs a task. A soak run fails when the task takes longer than the limit. */
export async function within<T>(limitMs: number, task: () => T | Promise<T>): Promise<T> {
  const startedAt = performance.now();
  const result = await task();
  if (MEASURES) expect(performance.now() - startedAt).toBeLessThan(limitMs);
  return result;
}

/** Runs a task and returns its time in milliseconds, for `expectGrowth`. */
export async function timeOf(task: () => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  await task();
  return performance.now() - startedAt;
}

/** The resident memory of this process in megabytes. */
export const residentMegabytes = (): number => process.memoryUsage.rss() / 1024 ** 2;

/** Fails a soak run when memory has grown by the limit or more. */
export function expectGrowth(megabytes: number, limit: number, note = ''): void {
  if (MEASURES) expect(megabytes, note).toBeLessThan(limit);
}
