import { expect } from 'vitest';
import { MEASURES } from '../../../test/limits.ts';
import { verifies } from '../../../test/requirements.ts';
import type { StoredRun } from '../../store/run-journal.ts';
import type { Mapping, Step } from '../definition/canonical.ts';
import { aCallStep, aStep, aWorkflow } from '../fixtures.ts';
import { completeWith, type RunBench, runBench } from './fixtures.ts';

const ref = (name: string, ...parts: string[]): Mapping => ({ ref: { name, parts, text: `$${name}` } });
const reads = (id: string, input: Mapping): Step => aStep('tool', { id, tool: 'read', input });

/** Every entry in the whole test, every fourth elsewhere. */
const SCALE = MEASURES ? 1 : 4;

/** A flow with every kind of step but code and workflows, which are calls like others. */
const FLOW = aWorkflow(
  [
    aCallStep('write', { compensate: { tool: 'put-undo', input: { value: {} } } }),
    aStep('parallel', {
      id: 'both',
      mode: 'all',
      shape: 'keyed',
      branches: [
        { id: 'a', steps: [aCallStep('write-a'), aCallStep('read-a')] },
        { id: 'b', steps: [aCallStep('put-b'), aStep('wait', { id: 'pause', for: 1 })] },
      ],
    }),
    aStep('parallel', {
      id: 'race',
      mode: 'first',
      shape: 'winner',
      branches: [{ id: 'only', steps: [aCallStep('read-c')] }],
    }),
    aStep('approval', { id: 'ok', title: { value: 'Go on?' }, quorum: 1, onExpire: 'fail' }),
    aStep('switch', { id: 'choice', cases: [{ when: { cel: 'true' }, steps: [aCallStep('write-d')] }] }),
    aStep('fanout', {
      id: 'each',
      items: { value: [1, 2, 3] },
      as: 'item',
      maxConcurrency: 2,
      steps: [aStep('tool', { id: 'one', tool: 'write-e', input: { object: { n: ref('item') } } })],
      shape: 'report',
    }),
    aStep('loop', {
      id: 'twice',
      test: { while: { cel: 'true' } },
      maxIterations: 2,
      atMax: 'end',
      steps: [aCallStep('put-f')],
      shape: 'last',
    }),
    aStep('pipeline', {
      id: 'pipe',
      parts: [
        { step: aCallStep('read-g', { input: { g: 1 } }) },
        { transform: { object: { was: ref('prev') } }, each: false },
      ],
    }),
    reads('last', { object: { write: ref('write', 'result'), each: ref('each', 'ok') } }),
  ],
  { output: { object: { last: ref('last', 'result'), pipe: ref('pipe', 'result') } } },
);

/** Executes a run until it ends. Approves what it asks, and settles calls in doubt by what the server has counted. */
async function toEnd(bench: RunBench, run: StoredRun): Promise<void> {
  bench.decisions.set(`ap_${run.id}_ok`, { kind: 'approved', by: ['ops'], at: 1 });
  for (let executions = 0; executions < 20; executions++) {
    if ((await bench.advance(run)).kind === 'ended') return;
    await settleDoubts(bench, run);
  }
  throw new Error(`The run ${run.id} does not end.`);
}

async function settleDoubts(bench: RunBench, run: StoredRun): Promise<void> {
  if ((await bench.get(run)).status !== 'in_doubt') return;
  for (const entry of await bench.entries(run)) {
    if (entry.kind !== 'doubt') continue;
    const sent = bench.reached.find(({ id }) => id === entry.detail.callId);
    const happened = sent && { how: 'happened', result: { tool: sent.tool, ...sent.input } };
    const detail = { path: entry.path, ...(happened ?? { how: 'not-happened' }) };
    await bench.store.runs.signal(run.id, { kind: 'resolve', by: 'ops', detail });
  }
}

/** Returns the calls of a run that must not be repeated, in one order. */
const writes = (bench: RunBench, run: StoredRun) =>
  bench.reached
    .filter((call) => call.run === run.id && call.tool.startsWith('write'))
    .map(({ tool, input }) => `${tool} ${JSON.stringify(input)}`)
    .sort();

verifies('W5', 'ends a run in the same way after a crash behind any entry, and repeats no call', async () => {
  const bench = await runBench();
  const whole = await bench.create(FLOW);
  await toEnd(bench, whole);
  const output = await bench.output(whole);
  const entries = (await bench.entries(whole)).length;
  expect(writes(bench, whole)).toHaveLength(6);
  for (let cut = 1; cut < entries; cut += SCALE) {
    const run = await bench.create(FLOW);
    bench.killAfter(cut);
    await toEnd(bench, run);
    expect(await bench.get(run), `cut ${cut}`).toMatchObject({ status: 'succeeded' });
    expect(await bench.output(run), `cut ${cut}`).toEqual(output);
    expect(writes(bench, run), `cut ${cut}`).toEqual(writes(bench, whole));
  }
});

verifies(
  'W5',
  'ends a run in the same way after a crash with any call at the server, and repeats no call',
  async () => {
    const bench = await runBench();
    const whole = await bench.create(FLOW);
    await toEnd(bench, whole);
    const calls = bench.called(whole);
    for (const [at, tool] of calls.entries()) {
      const run = await bench.create(FLOW);
      bench.respond(tool, ({ input }) => {
        if (bench.called(run).length === at + 1) bench.kill();
        return completeWith({ tool, ...input });
      });
      await toEnd(bench, run);
      expect(await bench.output(run), `call ${at} of ${tool}`).toEqual(await bench.output(whole));
      expect(writes(bench, run), `call ${at} of ${tool}`).toEqual(writes(bench, whole));
    }
  },
);
