import { afterEach, beforeEach, expect, vi } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { followCheckpoints } from './follow-checkpoints.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

verifies('G11', 'writes a checkpoint every minute, one at a time, and a last one on close', async () => {
  const pending: (() => void)[] = [];
  let started = 0;
  const checkpoint = () => {
    started += 1;
    return new Promise<undefined>((resolve) => pending.push(() => resolve(undefined)));
  };
  const close = followCheckpoints({ checkpoint });
  vi.advanceTimersByTime(59_999);
  expect(started).toBe(0);
  vi.advanceTimersByTime(1);
  expect(started).toBe(1);
  vi.advanceTimersByTime(120_000);
  expect(started).toBe(1);
  const closed = close();
  pending.shift()?.();
  await vi.waitUntil(() => started === 2);
  pending.shift()?.();
  await closed;
  vi.advanceTimersByTime(600_000);
  expect(started).toBe(2);
});

verifies('F7', 'goes on after a checkpoint that could not be written', async () => {
  let started = 0;
  const checkpoint = () => {
    started += 1;
    return Promise.reject(new Error('disk full'));
  };
  const close = followCheckpoints({ checkpoint });
  await vi.advanceTimersByTimeAsync(120_000);
  expect(started).toBe(2);
  await close();
  expect(started).toBe(3);
});
