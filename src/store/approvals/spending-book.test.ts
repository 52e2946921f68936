import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { onEveryDialect } from '../fixtures.ts';
import { openStore } from '../open-store.ts';

const HOUR = 'hour 2026-11-17T09';
const DAY = 'day 2026-11-17';
const MONTH = 'month 2026-11';
const LIMITS = [
  { window: HOUR, limit: 10 },
  { window: DAY, limit: 15 },
];

onEveryDialect((bench) => {
  verifies('G5', 'adds to every window or to none, and names the window that refuses', async () => {
    const { spending } = bench.store;
    expect(await spending.reserve('key:ci', 8, LIMITS)).toEqual({
      spent: [
        { caller: 'key:ci', window: DAY, amount: 8 },
        { caller: 'key:ci', window: HOUR, amount: 8 },
      ],
    });
    expect(await spending.reserve('key:ci', 3, LIMITS)).toMatchObject({ refusedBy: HOUR });
    const nextHour = [{ window: 'hour 2026-11-17T10', limit: 10 }, ...LIMITS.slice(1)];
    expect(await spending.reserve('key:ci', 8, nextHour)).toMatchObject({ refusedBy: DAY });
    expect(await spending.spent('key:ci', [DAY, HOUR])).toEqual([
      { caller: 'key:ci', window: DAY, amount: 8 },
      { caller: 'key:ci', window: HOUR, amount: 8 },
    ]);
    expect(await spending.spent('key:ops', [DAY, HOUR])).toEqual([]);
  });

  verifies('G5', 'keeps spending over a restart and releases what was not used', async () => {
    await bench.store.spending.reserve('key:ci', 8, LIMITS);
    await bench.store.close();
    bench.store = await openStore({ location: bench.database.location });
    await bench.store.spending.reserve('key:ci', -5, LIMITS);
    expect(await bench.store.spending.all([HOUR])).toEqual([{ caller: 'key:ci', window: HOUR, amount: 3 }]);
    await bench.store.spending.reserve('key:ci', -5, LIMITS);
    expect(await bench.store.spending.all([HOUR])).toEqual([{ caller: 'key:ci', window: HOUR, amount: 0 }]);
  });

  verifies('G5', 'releases even if the budget is now smaller than the amount spent', async () => {
    const { spending } = bench.store;
    await spending.reserve('key:ci', 8, LIMITS);
    expect(await spending.reserve('key:ci', -1, [{ window: HOUR, limit: 2 }])).toEqual({
      spent: [{ caller: 'key:ci', window: HOUR, amount: 7 }],
    });
  });

  verifies('G5', 'spends a budget exactly with concurrent calls of two processes', async () => {
    const other = await openStore({ location: bench.database.location });
    const reserved = await Promise.all(
      Array.from({ length: 40 }, (_, n) => (n % 2 ? other : bench.store).spending.reserve('key:ci', 1, LIMITS)),
    );
    expect(reserved.filter(({ refusedBy }) => refusedBy === undefined)).toHaveLength(10);
    expect(await other.spending.all([HOUR, DAY])).toEqual([
      { caller: 'key:ci', window: DAY, amount: 10 },
      { caller: 'key:ci', window: HOUR, amount: 10 },
    ]);
    await other.close();
  });

  verifies('G5', 'fits three calls of 0.1 into a budget of 0.3', async () => {
    const { spending } = bench.store;
    const limits = [{ window: HOUR, limit: 0.3 }];
    for (const _ of [1, 2, 3]) expect((await spending.reserve('key:ci', 0.1, limits)).refusedBy).toBeUndefined();
    expect((await spending.reserve('key:ci', 0.1, limits)).refusedBy).toBe(HOUR);
  });

  verifies('G5', 'removes windows that ended long ago, of this caller alone', async () => {
    const { spending } = bench.store;
    const windows = ['hour 2026-11-10T09', 'day 2026-01-01', 'hour 2026-11-16T09', 'month 2025-01'];
    for (const caller of ['key:ci', 'key:ops']) {
      for (const window of windows) await spending.reserve(caller, 1, [{ window, limit: 9 }]);
    }
    await spending.reserve('key:ci', 1, [...LIMITS, { window: MONTH, limit: 9 }]);
    const left = (await spending.all(windows)).map(({ caller, window }) => `${caller} ${window}`);
    expect(left).toEqual([
      'key:ci hour 2026-11-16T09',
      'key:ci month 2025-01',
      'key:ops day 2026-01-01',
      'key:ops hour 2026-11-16T09',
      'key:ops month 2025-01',
    ]);
  });
});
