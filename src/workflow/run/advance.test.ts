import { describe, expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { ada } from '../../core/fixtures.ts';
import type { StoredRun } from '../../store/run-journal.ts';
import { aCallStep, aStep, aWorkflow } from '../fixtures.ts';
import { completeWith, type RunBench, runBench, timeNow } from '../journal/fixtures.ts';

describe('a run', () => {
  verifies('W5', 'is executed to its end, which is durable with its output', async () => {
    const bench = await runBench();
    const run = await bench.create(aWorkflow([aCallStep('read', { input: { n: 1 } }), aCallStep('write')]));
    expect(await bench.advance(run)).toEqual({ kind: 'ended' });
    expect(await bench.get(run)).toMatchObject({ status: 'succeeded' });
    expect(await bench.output(run)).toEqual({ tool: 'write' });
    expect(bench.reached.map(({ tool }) => tool)).toEqual(['read', 'write']);
    const kinds = (await bench.entries(run)).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind !== 'log' && kind !== 'recorded' && kind !== 'timer')).toEqual([
      ...['created', 'started', 'finished', 'started', 'finished', 'ended'],
    ]);
  });

  verifies('W3', 'is suspended while all branches wait, and goes on where it was', async () => {
    const bench = await runBench();
    const run = await bench.create(
      aWorkflow([
        aCallStep('write'),
        aStep('approval', { id: 'ok', title: { value: 'Go on?' }, quorum: 1, onExpire: 'fail' }),
        aCallStep('write2'),
      ]),
    );
    expect(await bench.advance(run)).toMatchObject({ kind: 'suspended' });
    expect(await bench.get(run)).toMatchObject({ status: 'waiting' });
    expect(bench.requested).toEqual(['ok']);
    bench.decisions.set(`ap_${run.id}_ok`, { kind: 'approved', by: ['ops'], at: timeNow() });
    expect(await bench.advance(run)).toEqual({ kind: 'ended' });
    expect(bench.requested).toEqual(['ok']);
    expect(bench.reached.map(({ tool }) => tool)).toEqual(['write', 'write2']);
  });
});

/** Adds entries of one kind to the history of a run. */
const addEntries = (bench: RunBench, { id }: StoredRun, kind: 'log' | 'fired', count: number) =>
  bench.store.committed(
    `INSERT INTO run_entries
       WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i <= ${count})
       SELECT '${id}', i, 0, '${kind}', 'old/' || i, '{}' FROM n`,
  );

verifies('W3', 'does not count the log lines of a resumed run as events', async () => {
  const bench = await runBench();
  const run = await bench.create(aWorkflow([aCallStep('read')]));
  await addEntries(bench, run, 'log', 55_001);
  expect(await bench.advance(run)).toEqual({ kind: 'ended' });
  expect(await bench.get(run)).toMatchObject({ status: 'succeeded' });
});

verifies('W3', 'lets other work of the process go on while a run computes', async () => {
  let turns = 0;
  let seen: number | undefined;
  const bench = await runBench(() => ({
    async execute(_workflow, _input, { durable }) {
      setImmediate(() => turns++);
      for (let at = 0; at < 1_000_000 && turns === 0; at++) await durable.yieldTurn();
      seen = turns;
      return { output: null, stepsExecuted: 0 };
    },
  }));
  const run = await bench.create(aWorkflow([aCallStep('read')]));
  expect(await bench.advance(run)).toEqual({ kind: 'ended' });
  expect(seen).toBe(1);
});

verifies('W3', 'ends a resumed run with too many events as failed, and calls nothing', async () => {
  for (const count of [50_000, 55_001]) {
    const bench = await runBench();
    const run = await bench.create(aWorkflow([aCallStep('read'), aCallStep('write')]));
    await addEntries(bench, run, 'fired', count);
    expect(await bench.advance(run)).toEqual({ kind: 'ended' });
    expect(await bench.get(run)).toMatchObject({ status: 'failed', error: { code: 'EVENTS_EXCEEDED' } });
    expect(bench.called(run)).not.toContain('write');
  }
});

verifies('W5', 'ends a run whose key is revoked while it is executed, and calls nothing more', async () => {
  let now = timeNow();
  let isRevoked = false;
  let lookups = 0;
  const bench = await runBench(() => ({
    clock: () => now,
    async callerOf() {
      lookups++;
      return isRevoked ? undefined : ada;
    },
  }));
  bench.respond('write', () => {
    isRevoked = true;
    now += 60_000;
    return completeWith({});
  });
  const run = await bench.create(aWorkflow(['read', 'read2', 'write', 'write2'].map((tool) => aCallStep(tool))));
  expect(await bench.advance(run)).toEqual({ kind: 'ended' });
  expect(await bench.get(run)).toMatchObject({ status: 'failed', error: { code: 'PERMISSION_DENIED' } });
  expect(bench.called(run)).toEqual(['read', 'read2', 'write']);
  expect(lookups).toBe(2);
});
