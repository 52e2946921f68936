import { expect, it } from 'vitest';
import { waitAtMost } from './wait-at-most.ts';

const never = new AbortController().signal;
const pending = () => new Promise<never>(() => {});

it('returns the result, and aborts the signal of the wait afterwards', async () => {
  let seen: AbortSignal | undefined;
  const result = await waitAtMost({ signal: never }, async (signal) => {
    seen = signal;
    return signal.aborted;
  });
  expect([result, seen?.aborted]).toEqual([false, true]);
});

it('returns undefined when the time is over', async () => {
  expect(await waitAtMost({ ms: 0, signal: never }, pending)).toBeUndefined();
});

it('throws when the wait fails or is interrupted', async () => {
  const failed = new Error('no such approval');
  await expect(waitAtMost({ signal: never }, () => Promise.reject(failed))).rejects.toBe(failed);
  const interrupted = AbortSignal.abort();
  await expect(waitAtMost({ ms: 60_000, signal: interrupted }, pending)).rejects.toMatchObject({
    code: 'CALL_CANCELLED',
  });
});
