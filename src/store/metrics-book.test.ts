import { expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { onEveryDialect } from './fixtures.ts';
import type { SavedMetrics } from './metrics-book.ts';
import { openStore } from './open-store.ts';

const metricsOf = (change: Partial<SavedMetrics> = {}): SavedMetrics => ({
  server: 'demo',
  signature: 'first',
  tool: '',
  totalCalls: 3,
  toolErrors: 1,
  errorCount: 1,
  avgLatencyMs: 2.5,
  lastCallTime: 1_700_000_000_000,
  ...change,
});

onEveryDialect((bench) => {
  verifies('R5', 'keeps counts by server and tool over a restart', async () => {
    const rows = [metricsOf(), metricsOf({ tool: 'echo' }), metricsOf({ server: 'other' })];
    await bench.store.metrics.add([...rows].reverse());
    await bench.store.close();
    bench.store = await openStore({ location: bench.database.location });
    expect(await bench.store.metrics.all()).toEqual(rows);
  });

  verifies('R5', 'adds the counts of several processes and keeps the newest average and the latest time', async () => {
    const other = await openStore({ location: bench.database.location });
    await bench.store.metrics.add([metricsOf({ lastCallTime: 2000 })]);
    await other.metrics.add([
      metricsOf({ totalCalls: 1, toolErrors: 0, errorCount: 1, avgLatencyMs: 9, lastCallTime: 1000 }),
    ]);
    await other.close();
    expect(await bench.store.metrics.all()).toEqual([
      metricsOf({ totalCalls: 4, toolErrors: 1, errorCount: 2, avgLatencyMs: 9, lastCallTime: 2000 }),
    ]);
  });

  verifies('R5', 'keeps counts apart by the signature of the server', async () => {
    const rows = [metricsOf(), metricsOf({ tool: 'echo' }), metricsOf({ signature: 'second', totalCalls: 9 })];
    await bench.store.metrics.add(rows);
    await bench.store.metrics.add([metricsOf({ signature: 'second', totalCalls: 1, toolErrors: 0, errorCount: 0 })]);
    expect(await bench.store.metrics.all()).toEqual([
      ...rows.slice(0, 2),
      metricsOf({ signature: 'second', totalCalls: 10 }),
    ]);
  });

  verifies('R5', 'keeps the counts of the 20 signatures of a server that were called last', async () => {
    const at = (place: number) => ({ signature: `s${place}`, lastCallTime: place });
    await bench.store.metrics.add([metricsOf({ server: 'other', ...at(0) })]);
    for (let place = 0; place < 22; place++)
      await bench.store.metrics.add([metricsOf(at(place)), metricsOf({ ...at(place), tool: 'echo' })]);
    await bench.store.metrics.add([metricsOf({ ...at(2), lastCallTime: 99 })]);
    await bench.store.metrics.add([metricsOf(at(22))]);
    const kept = (await bench.store.metrics.all()).map(({ server, signature, tool }) => [server, signature, tool]);
    const places = [2, ...Array.from({ length: 18 }, (_, index) => index + 4)];
    const expected = places.flatMap((place) => ['', 'echo'].map((tool) => ['demo', `s${place}`, tool]));
    const byText = (a: readonly string[], b: readonly string[]) => (a.join(' ') < b.join(' ') ? -1 : 1);
    expect(kept.toSorted(byText)).toEqual([...expected, ['demo', 's22', ''], ['other', 's0', '']].toSorted(byText));
  });

  it('writes no row when one of them cannot be written', async () => {
    await bench.database.run('CREATE UNIQUE INDEX once ON metrics (avg_latency_ms)');
    const rows = [metricsOf(), metricsOf({ tool: 'echo' })];
    await expect(bench.store.metrics.add(rows)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(await bench.store.metrics.all()).toEqual([]);
    await bench.store.metrics.add([metricsOf()]);
    expect(await bench.store.metrics.all()).toEqual([metricsOf()]);
  });
});
