import { describe, expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { HeddleError } from '../../core/errors.ts';
import { ada, grace, text } from '../../core/fixtures.ts';
import { aCallStep, aStep, aWorkflow } from '../fixtures.ts';
import { completeWith, type RunBench, runBench } from '../journal/fixtures.ts';
import { retryRun } from './retry-run.ts';
import { startRun } from './start-run.ts';

const large = { text: 'x'.repeat(100_000) };

async function failedRun(bench: RunBench, undo = false) {
  bench.respond('write-bad', () => ({
    ...(text('no') as Extract<ReturnType<typeof text>, { kind: 'complete' }>),
    isError: true,
  }));
  const first = aCallStep('write', {
    input: large,
    ...(undo && { compensate: { tool: 'put-undo', input: { value: {} } } }),
  });
  const last = aStep('tool', {
    id: 'last',
    tool: 'write-bad',
    input: { object: { size: { cel: 'size(scope["write"].result.text)' } } },
  });
  const run = await bench.create(aWorkflow([first, last]), { detached: true });
  expect(await bench.advance(run)).toEqual({ kind: 'ended' });
  expect((await bench.get(run)).status).toBe('failed');
  return bench.get(run);
}

describe('a retry', () => {
  verifies('W6', 'is a new run that takes over the results of the steps before, large ones too', async () => {
    const bench = await runBench();
    const old = await failedRun(bench);
    bench.respond(
      'write-bad',
      ({ input }) => ({ ...(text('ok') as object), value: { content: [], structuredContent: input } }) as never,
    );
    const origin = { folder: '/shop' };
    const run = await retryRun(bench.parts, old, { caller: grace, from: 'last', origin });
    expect(run).toMatchObject({ retryOf: { run: old.id, from: 'last' }, caller: { id: 'grace' }, origin });
    expect([old.detached, run.detached]).toEqual([true, undefined]);
    expect(await bench.advance(run)).toEqual({ kind: 'ended' });
    expect(bench.called(run)).toEqual(['write-bad']);
    expect(await bench.output(run)).toEqual({ size: 100_000 });
  });

  verifies('W6', 'is refused for an open run, an unknown step, and steps that were undone', async () => {
    const bench = await runBench();
    const open = await bench.create(aWorkflow([aCallStep('write')]));
    const retry = (run: typeof open, from: string) => retryRun(bench.parts, run, { caller: ada, from });
    await expect(retry(open, 'write')).rejects.toMatchObject({ code: 'INPUT_INVALID' });
    const undone = await failedRun(bench, true);
    await expect(retry(undone, 'other')).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      fix: expect.stringContaining('write, last'),
    });
    await expect(retry(undone, 'last')).rejects.toThrow('The step write was undone');
    expect(await retry(undone, 'write')).toMatchObject({ status: 'running' });
  });
});

describe('a retry from a step after the one in which the run stopped', () => {
  verifies('W6', 'is refused, since it would stop there again at once', async () => {
    const bench = await runBench();
    const steps = [aCallStep('read'), aCallStep('write'), aCallStep('put')];
    const cancelled = await bench.create(aWorkflow(steps));
    bench.respond('write', () => {
      throw new HeddleError('OUTCOME_UNKNOWN', 'The connection was lost.');
    });
    await bench.advance(cancelled);
    expect((await bench.get(cancelled)).status).toBe('in_doubt');
    await bench.store.runs.signal(cancelled.id, { kind: 'cancel', by: 'ada', detail: {} });
    await bench.advance(cancelled);
    const old = await bench.get(cancelled);
    expect(old.status).toBe('cancelled');
    const retry = (from: string) => retryRun(bench.parts, old, { caller: ada, from });
    await expect(retry('put')).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      fix: 'Retry from write, or from a step before it.',
    });
    bench.respond('write', () => completeWith({}));
    const again = await retry('write');
    expect(await bench.advance(again)).toEqual({ kind: 'ended' });
    expect([(await bench.get(again)).status, bench.called(again)]).toEqual(['succeeded', ['write', 'put']]);
  });
});

describe('a new run', () => {
  verifies('W5', 'is found again by the call that began it', async () => {
    const bench = await runBench();
    const wanted = { workflow: aWorkflow([aCallStep('read')]), input: {}, caller: ada, callId: 'call-1' };
    const run = await startRun(bench.parts, wanted);
    expect(await startRun(bench.parts, wanted)).toMatchObject({ id: run.id });
    expect(await startRun(bench.parts, { ...wanted, caller: grace })).not.toMatchObject({ id: run.id });
  });

  verifies('W4', 'is at most seven runs below the first: a workflow that calls itself is stopped', async () => {
    const bench = await runBench();
    let parent = await bench.create(aWorkflow([aCallStep('read')]));
    for (let depth = 1; depth < 8; depth++) {
      parent = await bench.create(aWorkflow([aCallStep('read')]), { parent: { run: parent.id, path: 'sub' } });
      expect(parent.depth).toBe(depth);
    }
    const below = bench.create(aWorkflow([aCallStep('read')]), { parent: { run: parent.id, path: 'sub' } });
    await expect(below).rejects.toMatchObject({ code: 'RUN_FAILED' });
  });

  verifies('W5', 'keeps its definition and those of its sub-workflows by digest', async () => {
    const bench = await runBench();
    const sub = aWorkflow([aCallStep('read')], { name: 'sub' });
    const run = await bench.create(aWorkflow([aCallStep('write')]), { subWorkflows: { sub } });
    const [created] = await bench.entries(run);
    const pinned = created?.kind === 'created' ? created.detail.pinned?.sub : undefined;
    expect(await bench.store.runs.value(pinned ?? '')).toEqual(sub);
    expect(await bench.store.runs.value(run.digest)).toMatchObject({ name: 'test' });
  });
});
