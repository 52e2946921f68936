import { expect, it } from 'vitest';
import { onEveryDialect, spanOf } from '../../src/store/fixtures.ts';
import { verifies } from '../requirements.ts';
import { until } from '../until.ts';

onEveryDialect((bench) => {
  const written = (count: number) =>
    until('all are written', async () => {
      const stats = await bench.store.traces.stats(0);
      return stats.reduce((sum, { totalCalls }) => sum + totalCalls, 0) === count;
    });

  verifies('V1', 'returns the spans of a trace by start, with parents and unknown attributes', async () => {
    const { traces } = bench.store;
    const child = spanOf({ spanId: 'child', parentId: 'span-1', startedAt: 1_001, outcome: 'UPSTREAM_TIMEOUT' });
    traces.append(child);
    traces.append(spanOf({ attributes: { nested: { odd: ['✓', null] } } }));
    traces.append(spanOf({ traceId: 'another' }));
    await until('they are written', async () => (await traces.get('another')).length === 1);
    expect(await traces.get('trace-1')).toEqual([spanOf({ attributes: { nested: { odd: ['✓', null] } } }), child]);
    expect(await traces.get('none')).toEqual([]);
  });

  verifies(
    'V1',
    'counts calls per name and per server since a time; tool errors and error codes have failed',
    async () => {
      const { traces } = bench.store;
      traces.append(spanOf({ startedAt: 1 }));
      traces.append(spanOf({ name: 'demo.add', startedAt: 10, durationMs: 1 }));
      traces.append(spanOf({ startedAt: 20, durationMs: 2 }));
      traces.append(spanOf({ startedAt: 30, durationMs: 6, outcome: 'tool-error' }));
      traces.append(spanOf({ startedAt: 40, durationMs: 4, outcome: 'UPSTREAM_TIMEOUT' }));
      await written(5);
      const echo = {
        totalCalls: 3,
        successRate: 1 - 2 / 3,
        errorCount: 1,
        toolErrors: 1,
        avgLatencyMs: 4,
        lastCallTime: 40,
        topErrors: [
          { code: 'UPSTREAM_TIMEOUT', count: 1 },
          { code: 'tool-error', count: 1 },
        ],
      };
      expect(await traces.stats(10)).toMatchObject([
        { name: 'demo.echo', ...echo },
        { name: 'demo.add', totalCalls: 1, successRate: 1, errorCount: 0, avgLatencyMs: 1, topErrors: [] },
      ]);
      const demo = { name: 'demo', totalCalls: 4, successRate: 1 / 2, avgLatencyMs: 13 / 4 };
      expect(await traces.stats(10, 'server')).toMatchObject([demo]);
    },
  );

  verifies('G4', 'counts results that do not match their output schema, and not as errors', async () => {
    const { traces } = bench.store;
    for (const outcome of ['ok', 'output-mismatch']) traces.append(spanOf({ startedAt: 10, outcome }));
    await written(2);
    expect(await traces.stats(10)).toMatchObject([
      {
        totalCalls: 2,
        successRate: 1,
        errorCount: 0,
        outputMismatches: 1,
        topErrors: [{ code: 'output-mismatch', count: 1 }],
      },
    ]);
  });

  verifies('V1', 'returns a measured duration as percentile', async () => {
    const { traces } = bench.store;
    const times = Array.from({ length: 200 }, (_, index) => index + 1);
    for (const durationMs of times.toReversed()) traces.append(spanOf({ durationMs }));
    traces.append(spanOf({ name: 'demo.once', durationMs: 7 }));
    traces.append(spanOf({ name: 'demo.twice', durationMs: 3, server: 'other' }));
    traces.append(spanOf({ name: 'demo.twice', durationMs: 4, server: 'other' }));
    await written(203);
    expect(await traces.stats(0)).toMatchObject([
      { name: 'demo.echo', p50Ms: 100, p95Ms: 190, p99Ms: 198 },
      { name: 'demo.twice', p50Ms: 3, p95Ms: 4, p99Ms: 4 },
      { name: 'demo.once', p50Ms: 7, p95Ms: 7, p99Ms: 7 },
    ]);
    expect(await traces.stats(0, 'server')).toMatchObject([
      { name: 'demo', totalCalls: 201, p50Ms: 100 },
      { name: 'other', totalCalls: 2, p50Ms: 3 },
    ]);
  });

  verifies('V1', 'returns the five most frequent errors of a name', async () => {
    const { traces } = bench.store;
    const often = {
      AUTH_NEEDED: 1,
      INTERNAL: 2,
      'tool-error': 3,
      RATE_LIMITED: 4,
      UPSTREAM_FAILED: 5,
      INPUT_INVALID: 5,
    };
    for (const [outcome, times] of Object.entries(often)) {
      for (let time = 0; time < times; time++) traces.append(spanOf({ outcome }));
    }
    await written(20);
    const [stats] = await traces.stats(0);
    expect(stats?.topErrors.map(({ code, count }) => `${code} ${count}`)).toEqual([
      'INPUT_INVALID 5',
      'UPSTREAM_FAILED 5',
      'RATE_LIMITED 4',
      'tool-error 3',
      'INTERNAL 2',
    ]);
  });

  verifies('V1', 'counts a call with input requests or a task once, when it ends', async () => {
    const { traces } = bench.store;
    const rounds = ['waiting', 'working', 'input-required', 'working', 'ok'];
    for (const [at, outcome] of rounds.entries()) traces.append(spanOf({ spanId: `span-${at}`, outcome }));
    await until('all are written', async () => (await traces.get('trace-1')).length === rounds.length);
    for (const per of ['name', 'server'] as const) {
      expect(await traces.stats(0, per)).toMatchObject([{ totalCalls: 1, successRate: 1, topErrors: [] }]);
    }
  });

  it('counts a call without a server under no server', async () => {
    const { server: _, ...unknown } = spanOf({ name: 'any.tool', outcome: 'NAME_AMBIGUOUS' });
    bench.store.traces.append(unknown);
    await written(1);
    expect(await bench.store.traces.stats(0, 'server')).toEqual([]);
    expect(await bench.store.traces.stats(0)).toMatchObject([{ name: 'any.tool', successRate: 0 }]);
    expect(await bench.store.traces.get('trace-1')).toEqual([unknown]);
  });

  verifies('V1', 'traces an unknown name, but leaves it out of the statistics', async () => {
    const unknown = spanOf({ name: 'no.tool', outcome: 'NAME_UNKNOWN' });
    bench.store.traces.append(unknown);
    await expect.poll(() => bench.store.traces.get('trace-1')).toEqual([unknown]);
    expect(await bench.store.traces.stats(0)).toEqual([]);
    expect(await bench.store.traces.stats(0, 'server')).toEqual([]);
  });
});
