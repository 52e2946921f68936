import { describe, expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { aCallStep, aStep, aWorkflow } from '../fixtures.ts';
import { runBench, timeNow } from '../journal/fixtures.ts';

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
