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

  it('writes no row when one of them cannot be written', async () => {
    await bench.database.run('CREATE UNIQUE INDEX once ON metrics (avg_latency_ms)');
    const rows = [metricsOf(), metricsOf({ tool: 'echo' })];
    await expect(bench.store.metrics.add(rows)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(await bench.store.metrics.all()).toEqual([]);
    await bench.store.metrics.add([metricsOf()]);
    expect(await bench.store.metrics.all()).toEqual([metricsOf()]);
  });
});
