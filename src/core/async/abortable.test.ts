import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import { abortable } from './abortable.ts';

it('settles like the promise and leaves no listener', async () => {
  const { signal } = new AbortController();
  await expect(abortable(Promise.resolve(7), signal)).resolves.toBe(7);
  await expect(abortable(Promise.reject(new Error('theirs')), signal)).rejects.toThrow('theirs');
  await new Promise(setImmediate);
  expect(getEventListeners(signal, 'abort')).toHaveLength(0);
});

it('rejects on abort while the work goes on', async () => {
  const abort = new AbortController();
  const work = Promise.withResolvers<string>();
  const [mine, theirs] = [abortable(work.promise, abort.signal), abortable(work.promise, new AbortController().signal)];
  abort.abort();
  await expect(mine).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
  expect(getEventListeners(abort.signal, 'abort')).toHaveLength(0);
  work.resolve('done');
  await expect(theirs).resolves.toBe('done');
});

it('rejects at once with an aborted signal and handles a later rejection of the promise', async () => {
  const unhandled: unknown[] = [];
  const record = (reason: unknown) => void unhandled.push(reason);
  process.on('unhandledRejection', record);
  const failing = Promise.withResolvers<never>();
  await expect(abortable(failing.promise, AbortSignal.abort())).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
  failing.reject(new Error('later'));
  await new Promise(setImmediate);
  process.off('unhandledRejection', record);
  expect(unhandled).toEqual([]);
});
