import { describe, expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { Json, JsonObject } from '../../core/call.ts';
import type { Branch, FanoutStep, LoopStep, ParallelStep, Step, StepBase } from '../definition/canonical.ts';
import { aCallStep, aStep, aWorkflow, cel, ref, simulate, world } from '../fixtures.ts';
import type { World } from './fixtures.ts';

const FAILED = { error: { code: 'UPSTREAM_FAILED', mayHaveActed: false } };
const branch = (id: string, rest: Partial<StepBase> = {}): Branch => ({ id, steps: [aCallStep(id, rest)] });
const run = (steps: readonly Step[], of: World = world()) => simulate(aWorkflow(steps), of);
const classic = (steps: readonly Step[], of: World = world()) => simulate(aWorkflow(steps, { form: 'classic' }), of);
const contents = (results: Json | undefined) =>
  (results as readonly JsonObject[]).map(({ structuredContent }) => structuredContent);

function parallel(
  mode: ParallelStep['mode'],
  shape: ParallelStep['shape'],
  rest: Partial<StepBase & ParallelStep> = {},
) {
  return aStep('parallel', { id: 'p', mode, shape, branches: [branch('a'), branch('b'), branch('c')], ...rest });
}

describe('parallel', () => {
  verifies('W1', 'all: has the results of all branches, by id or in branch order', async () => {
    const of = world({ a: { result: { n: 1 }, afterMs: 30 }, b: { result: { n: 2 } }, c: { result: { n: 3 } } });
    expect((await run([parallel('all', 'keyed')], of)).output).toEqual({ a: { n: 1 }, b: { n: 2 }, c: { n: 3 } });
    expect(contents((await classic([parallel('all', 'list')], of)).output)).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
  });

  verifies(
    'W3',
    'all: a failed branch cancels the others, and a skipped one is null and listed in errors',
    async () => {
      const of = world({ a: { afterMs: 50 }, b: FAILED });
      const failed = await run([parallel('all', 'keyed')], of);
      expect(failed).toMatchObject({ status: 'failed', error: { code: 'UPSTREAM_FAILED', path: 'p/b/b' } });
      expect(failed.durable.time).toBe(1);
      const branches = [branch('a'), branch('b', { onError: 'skip' })];
      const output = { object: { result: ref('p.result'), code: ref('p.errors.b.code') } };
      const skipped = await simulate(
        aWorkflow([parallel('all', 'keyed', { branches })], { output }),
        world({ b: FAILED }),
      );
      expect(skipped.output).toEqual({ result: { a: { tool: 'a' }, b: null }, code: 'UPSTREAM_FAILED' });
    },
  );

  verifies('W3', 'first: has the first success, aborts the others and reports those that may have acted', async () => {
    const of = world({ a: { afterMs: 50 }, b: { result: { n: 2 }, afterMs: 9 }, c: FAILED });
    const end = await run([parallel('first', 'winner')], of);
    expect(end).toMatchObject({ output: { winner: 'b', value: { n: 2 } } });
    expect(end.durable.time).toBe(9);
    expect(end.durable.logs).toContainEqual(expect.objectContaining({ path: 'p/a', type: 'error' }));
    expect(contents((await classic([parallel('first', 'list')], of)).output)).toEqual([{ n: 2 }]);
  });

  verifies('W3', 'first: fails with the errors of all branches if none succeeds', async () => {
    const branches = [branch('a'), branch('b', { onError: 'skip' }), branch('c', { onError: 'fallback' })];
    const end = await run([parallel('first', 'winner', { branches })], world({ a: FAILED, b: FAILED, c: FAILED }));
    expect(end.error).toMatchObject({ code: 'ALL_FAILED', path: 'p' });
    expect(end.error?.message).toMatch(/a: .*UPSTREAM_FAILED.*; b: .*; c: /);
  });

  verifies('W3', 'majority: more than half agree on `by`; the rest is aborted', async () => {
    const of = world({ a: { result: { v: 1, x: 1 } }, b: { result: { v: 1 }, afterMs: 5 }, c: { afterMs: 90 } });
    const end = await run([parallel('majority', 'winner', { by: ref('branch.result.v') })], of);
    expect(end).toMatchObject({ output: { v: 1, x: 1 } });
    expect(end.durable.time).toBe(5);
  });

  verifies('W3', 'majority: a branch that was outvoted is no error in the log', async () => {
    const votes = { a: { result: { v: 2 } }, b: { result: { v: 1 }, afterMs: 1 }, c: { result: { v: 1 }, afterMs: 2 } };
    const end = await run([parallel('majority', 'winner')], world(votes));
    const message = 'The branch a was outvoted, and its result is discarded.';
    expect(end.durable.logs).toContainEqual(expect.objectContaining({ path: 'p/a', type: 'skip', message }));
    expect(end.durable.logs).not.toContainEqual(expect.objectContaining({ type: 'error' }));
  });

  verifies('W3', 'majority: without one it fails with the tally, not with the values', async () => {
    const of = world({ a: { result: { v: 'secret' } }, b: { result: { v: 2 } }, c: FAILED });
    const end = await run([parallel('majority', 'winner')], of);
    expect(end.error).toMatchObject({ code: 'NO_MAJORITY', details: { tally: [['a'], ['b']] } });
    expect(end.error?.message).toMatch(/a \(1\), b \(1\).*c: /);
    expect(end.error?.message).not.toContain('secret');
  });

  verifies('W1', 'most, the classic majority: more than half succeeded, as a list of successes', async () => {
    const of = world({ b: FAILED });
    expect(contents((await classic([parallel('most', 'list')], of)).output)).toEqual([{ tool: 'a' }, { tool: 'c' }]);
    const end = await classic([parallel('most', 'list')], world({ a: FAILED, b: FAILED }));
    expect(end.error).toMatchObject({ code: 'NO_MAJORITY' });
  });
});

const fanout = (rest: Partial<StepBase & FanoutStep> = {}) =>
  aStep('fanout', {
    ...{ id: 'f', items: { value: [3, 1, 2] }, as: 'n', maxConcurrency: 2, shape: 'report' },
    steps: [aStep('tool', { id: 'get', tool: 'get', input: { object: { n: ref('n'), index: ref('index') } } })],
    ...rest,
  });

describe('fan-out', () => {
  const slow: World = { tool: ({ input }) => ({ result: input, afterMs: Number(input.n) * 10 }) };

  verifies('W3', 'runs at most maxConcurrency items at a time and keeps the order of the list', async () => {
    const end = await run([fanout()], slow);
    const value = (n: number, index: number) => ({ index, status: 'ok', value: { n, index } });
    expect(end.output).toEqual({ items: [value(3, 0), value(1, 1), value(2, 2)], ok: 3, failed: 0, total: 3 });
    expect(end.durable.time).toBe(30);
  });

  verifies('W3', 'tolerates failed items up to the count or percentage, then cancels the rest', async () => {
    const of: World = { tool: ({ input }) => (input.n === 1 ? FAILED : { result: input, afterMs: 5 }) };
    const end = await run([fanout({ tolerate: { percent: 40 } })], of);
    expect(end.output).toMatchObject({
      ok: 2,
      failed: 1,
      items: [{}, { status: 'failed', error: { code: 'UPSTREAM_FAILED' } }, {}],
    });
    const failed = await run([fanout({ tolerate: { count: 0 } })], of);
    expect(failed.error).toMatchObject({ code: 'TOO_MANY_FAILED' });
    expect(failed.durable.calls).toHaveLength(2);
    expect((await run([fanout()], of)).error).toMatchObject({ code: 'UPSTREAM_FAILED', path: 'f/[1]/get' });
  });

  verifies('W3', 'merges once, with the steps of each item and without the failed ones below `*`', async () => {
    const of: World = {
      tool: ({ tool, input }) => (tool === 'get' && input.n === 1 ? FAILED : { result: input }),
    };
    const merge = { tool: 'merge', input: { object: { parts: ref('items.*.get.result.n') } } };
    const output = { object: { merged: ref('f.result'), used: ref('f.ok'), of: ref('f.total') } };
    const step = fanout({ tolerate: { count: 1 }, merge });
    const end = await simulate(aWorkflow([step], { output }), of);
    expect(end.output).toEqual({ merged: { parts: [3, 2] }, used: 2, of: 3 });
    expect(end.durable.calls.at(-1)?.path).toBe('f/~merge');
  });

  verifies('W1', 'classic: the list of tool results, and mergeTool gets their contents', async () => {
    const of: World = { tool: ({ input }) => ({ raw: { content: [{ type: 'text', text: `${input.item}` }] } }) };
    const input = { object: { item: ref('item'), index: ref('index') } };
    const steps = [aStep('tool', { id: 'call', tool: 'call', input })];
    const text = (value: number) => [{ type: 'text', text: `${value}` }];
    const end = await classic([fanout({ as: 'item', shape: 'contents', steps })], of);
    expect(end.output).toMatchObject(
      [3, 1, 2].map((value) => ({ content: text(value), isError: false, serverId: 'test' })),
    );
    const merge = { tool: 'merge', input: { object: { results: ref('items') } } };
    const merged = await classic([fanout({ as: 'item', shape: 'contents', steps, merge })], of);
    expect(merged.durable.calls.at(-1)?.input).toEqual({ results: [text(3), text(1), text(2)] });
  });

  const refused: [string, Json][] = [
    ['a text', 'abc'],
    ['more than 10,000 items', Array.from({ length: 10_001 }, () => 0)],
  ];
  for (const [name, value] of refused) {
    verifies('W3', `fails before the first call for ${name}`, async () => {
      const end = await run([fanout({ items: { value } })]);
      expect(end).toMatchObject({ status: 'failed', error: { code: 'EXPRESSION_FAILED' }, tools: [] });
    });
  }

  verifies('W3', 'loads results of 32 MiB together at most, and names size and limit', async () => {
    const big = { raw: { structuredContent: { text: 'x'.repeat(9 * 1024 * 1024) } } };
    const items = aStep('fanout', {
      ...{ id: 'f', items: { value: [1, 2, 3, 4] }, as: 'item', steps: [aCallStep('get')], maxConcurrency: 2 },
      shape: 'report',
    });
    const of = world({ get: big, a: big, b: big, c: big, d: big });
    const unread = await run([items, aCallStep('after')], of);
    expect(unread.status).toBe('succeeded');
    const four = parallel('all', 'keyed', { branches: ['a', 'b', 'c', 'd'].map((id) => branch(id)) });
    for (const [id, step] of [
      ['f', items],
      ['p', four],
    ] as const) {
      const { error } = await run([step], of);
      expect(error).toMatchObject({ code: 'RESULTS_TOO_LARGE', path: id, details: { limit: 32 * 1024 * 1024 } });
      expect(error?.message).toContain(`The results of the step ${id} have 377`);
    }
  });

  verifies('W3', 'refuses an input of a merge over 1 MiB and names size and limit', async () => {
    const of: World = { tool: () => ({ result: { text: 'x'.repeat(600_000) } }) };
    const end = await run(
      [fanout({ merge: { tool: 'merge', input: { object: { all: ref('items.*.get.result.text') } } } })],
      of,
    );
    expect(end.error?.message).toMatch(/has 1800018 bytes, and 1048576 are allowed/);
  });
});

const loop = (rest: Partial<StepBase & LoopStep>) =>
  aStep('loop', {
    ...{ id: 'l', test: { until: cel('$get.result.n >= 2') }, maxIterations: 5, atMax: 'fail', shape: 'last' },
    steps: [
      aStep('tool', { id: 'get', tool: 'get', input: { object: { n: ref('loop.index'), prev: ref('loop.prev') } } }),
    ],
    ...rest,
  });

describe('loop', () => {
  verifies('W3', 'until: tests after the body, waits between iterations and carries a value', async () => {
    const end = await run([loop({ delayMs: 100, carry: { object: { last: ref('get.result.n') } } })]);
    expect(end.output).toEqual({ tool: 'get', n: 2, prev: { last: 1 } });
    expect(end.durable.time).toBe(203);
  });

  verifies('W3', 'ends a run that begins 100 000 steps, whatever `onError` says, and yields its turns', async () => {
    const steps = Array.from({ length: 1000 }, (_, at) => aStep('sequential', { id: `s${at}`, steps: [] }));
    const endless = aStep('loop', {
      ...{ id: 'l', test: { until: cel('false') }, maxIterations: 1000, atMax: 'fail', shape: 'last' },
      ...{ steps, onError: 'skip' },
    });
    const { status, error, durable } = await run([endless, aCallStep('after')]);
    expect({ status, code: error?.code, turns: durable.turns }).toEqual({
      ...{ status: 'failed', code: 'STEPS_EXCEEDED', turns: 99 },
    });
    expect(durable.calls).toEqual([]);
  });

  verifies('W3', 'while: tests before the body; beyond maxIterations it fails', async () => {
    const none = await run([aCallStep('x'), loop({ test: { while: cel('$loop.index < 0') } })]);
    expect(none).toMatchObject({ status: 'succeeded', output: null, tools: ['x'] });
    const end = await run([loop({ test: { while: cel('true') }, maxIterations: 3 })]);
    expect(end).toMatchObject({ error: { code: 'LOOP_EXCEEDED' }, tools: ['get', 'get', 'get'] });
  });

  verifies('W1', 'classic: ends quietly at maxIterations, with iteration, loopResults and a list', async () => {
    const input = { object: { i: ref('iteration'), v: ref('var.iteration'), sofar: ref('loopResults') } };
    const steps = [aStep('tool', { id: 'get', tool: 'get', input })];
    const of: World = {
      tool: ({ input }) => ({ result: { i: input.i ?? -1, v: input.v ?? -1, count: (input.sofar as Json[]).length } }),
    };
    const options = {
      test: { while: { truthy: { value: true } } },
      maxIterations: 2,
      atMax: 'end',
      shape: 'list',
    } as const;
    expect(contents((await classic([loop({ ...options, steps })], of)).output)).toEqual([
      { i: 0, v: 0, count: 0 },
      { i: 1, v: 1, count: 1 },
    ]);
  });
});

describe('switch', () => {
  const step = aStep('switch', {
    id: 's',
    cases: [
      { when: cel('$input.n > 10'), steps: [aCallStep('many')] },
      { when: cel('$input.n > 5'), steps: [aCallStep('some')] },
    ],
  });

  verifies('W3', 'takes the first case that holds, has its result, and is skipped if none holds', async () => {
    const of = (n: number) => simulate(aWorkflow([aCallStep('before'), step]), world(), { input: { n } });
    expect((await of(11)).output).toEqual({ tool: 'many' });
    expect((await of(6)).output).toEqual({ tool: 'some' });
    expect(await of(1)).toMatchObject({ output: { tool: 'before' }, stepsExecuted: 1 });
  });
});

describe('pipeline', () => {
  verifies('W1', 'passes $prev from part to part: source, filter, transform, enrich and sink', async () => {
    const of: World = {
      tool: ({ tool, input }) => {
        if (tool === 'source') return { raw: { content: [{ type: 'text', text: '[{"n":1},{"n":2},{"n":3}]' }] } };
        return { result: tool === 'double' ? { value: Number(input.n) * 2 } : input };
      },
    };
    const end = await run(
      [
        aStep('pipeline', {
          id: 'p',
          parts: [
            { step: aCallStep('source') },
            { filter: cel('$item.n > 1') },
            { enrich: { tool: 'double', input: { object: { n: ref('item.n') } }, as: 'double' } },
            { transform: { object: { n: ref('item.n'), d: ref('item.double.value') } }, each: true },
            { step: aStep('tool', { id: 'sink', tool: 'sink', input: { object: { rows: ref('prev') } } }) },
          ],
        }),
      ],
      of,
    );
    expect(end.output).toEqual({
      rows: [
        { n: 2, d: 4 },
        { n: 3, d: 6 },
      ],
    });
    expect(end.durable.calls.map(({ path }) => path)).toEqual(['p/source', 'p/~2/[0]', 'p/~2/[1]', 'p/sink']);
  });
});
