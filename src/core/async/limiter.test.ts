import fc from 'fast-check';
import { expect, it, vi } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { limiter } from './limiter.ts';

it('never runs more than the limit, and runs everything', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 4 }), fc.scheduler(), async (limit, scheduler) => {
      const limited = limiter(limit);
      let running = 0;
      let most = 0;
      const tasks = Array.from({ length: 10 }, (_, index) =>
        limited(async () => {
          most = Math.max(most, ++running);
          await scheduler.schedule(Promise.resolve());
          running--;
          if (index % 3 === 0) throw new Error(`task ${index}`);
          return index;
        }),
      );
      const settled = Promise.allSettled(tasks);
      await scheduler.waitFor(settled);
      expect(most).toBe(limit);
      expect((await settled).filter(({ status }) => status === 'rejected')).toHaveLength(4);
    }),
  );
});

it('keeps the order of arrival, for those too that come while a place is handed over', async () => {
  const limited = limiter(1);
  const ran: string[] = [];
  const task = (name: string) => limited(async () => void ran.push(name));
  const first = task('first').then(() => task('late'));
  const second = task('second');
  const third = task('third');
  await Promise.all([first, second, third]);
  expect(ran).toEqual(['first', 'second', 'third', 'late']);
});

verifies('T3', 'does not let tasks that hang keep the others waiting', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const limited = limiter(2, 1000);
  const hung = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const hanging = hung.map(({ promise }) => limited(() => promise));
  let ran = 0;
  const others = [1, 2, 3].map(() => limited(async () => void ran++));
  await vi.advanceTimersByTimeAsync(999);
  expect(ran).toBe(0);
  await vi.advanceTimersByTimeAsync(1);
  await Promise.all(others);
  for (const { resolve } of hung) resolve();
  await Promise.all(hanging);
  // The places they gave up early are not given up twice.
  let most = 0;
  let running = 0;
  const more = Array.from({ length: 6 }, () =>
    limited(async () => {
      most = Math.max(most, ++running);
      await Promise.resolve();
      running--;
    }),
  );
  await Promise.all(more);
  expect([most, vi.getTimerCount()]).toEqual([2, 0]);
  vi.useRealTimers();
});
