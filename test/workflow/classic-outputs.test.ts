import { describe, expect } from 'vitest';
import type { Json, JsonObject } from '../../src/core/call.ts';
import { compileWorkflow } from '../../src/workflow/definition/compile-workflow.ts';
import { simulate } from '../../src/workflow/fixtures.ts';
import type { World } from '../../src/workflow/steps/fixtures.ts';
import { verifies } from '../requirements.ts';

/** `echo` returns its input, `list` a list, `bad` fails, `bad-item` fails for the item 2, `join` counts its results. */
const world: World = {
  tool({ tool, input }) {
    const isBad = tool === 'bad' || (tool === 'bad-item' && (input.item === 2 || input.n === 2));
    if (isBad) return { error: { code: 'UPSTREAM_FAILED', mayHaveActed: false } };
    if (tool === 'list') return { raw: { content: [{ type: 'text', text: '[{"n":1},{"n":2},{"n":3}]' }] } };
    if (tool === 'join') return { result: { joined: (input.results as readonly Json[]).length } };
    // A later branch takes less time.
    return { result: input, afterMs: 100 - Number(input.n ?? 0) };
  },
};

const INPUT = { query: 'q', list: [1, 2, 3], yes: 1, no: '' };
const FELL_BACK = { fallback: true, error: 'The call failed with UPSTREAM_FAILED.' };
const FAILS = 'UPSTREAM_FAILED';
/** Returns the tool result of `echo` for this input. */
const gave = (value: JsonObject): JsonObject => ({
  ...{ content: [{ type: 'text', text: JSON.stringify(value) }], isError: false, structuredContent: value },
  ...{ serverId: 'test', latencyMs: expect.any(Number) as unknown as number },
});
const item = (of: number, index: number) => gave({ item: of, index });
const echo = (id: string, inputMapping: JsonObject) => ({ id, type: 'sequential', toolName: 'echo', inputMapping });
const bad = (id: string) => ({ id, type: 'sequential', toolName: 'bad', inputMapping: {} });
const before = echo('before', { n: '1' });

interface Row {
  readonly name: string;
  readonly steps: readonly JsonObject[];
  /** The output by error handling, or the code of the error. One value: the same for all three. */
  readonly gives: Json | { readonly stop: Json; readonly skip: Json; readonly fallback: Json };
}

const branches = [{ toolName: 'echo', inputMapping: { n: '1' } }, bad('failing'), echo('other', { n: '2' })];

/** The meaning of the classic form, written by hand. */
const TABLE: readonly Row[] = [
  {
    name: 'sequential: typed references, JSON texts, plain texts',
    steps: [
      echo('a', { q: '$input.query', n: '1', list: '[1, 2]', text: 'plain', second: '$input.list.1' }),
      echo('b', {
        q: '$a.q',
        whole: '$a.result.structuredContent.list',
        content: '$a.content.0.type',
        server: '$a.serverId',
        bad: '$a.isError',
      }),
    ],
    gives: gave({ q: 'q', whole: [1, 2], content: 'text', server: 'test', bad: false }),
  },
  {
    name: 'sequential: a failed step',
    steps: [before, bad('failing')],
    gives: { stop: FAILS, skip: gave({ n: 1 }), fallback: FELL_BACK },
  },
  {
    name: 'sequential: outputMapping',
    steps: [
      { ...echo('a', { n: '1' }), outputMapping: { twice: '$a.n', none: '$a.result.missing' } },
      echo('b', { t: '$a.twice', v: '$var.twice', none: '$var.none' }),
    ],
    gives: gave({ t: 1, v: 1 }),
  },
  {
    name: 'parallel all: a list in branch order',
    steps: [
      { id: 'p', type: 'parallel', branches: [branches[0] ?? {}, [echo('x', { n: '7' }), echo('y', { n: '2' })]] },
    ],
    gives: [gave({ n: 1 }), gave({ n: 2 })],
  },
  {
    name: 'parallel all: a failed branch',
    steps: [before, { id: 'p', type: 'parallel', mergeStrategy: 'all', branches }],
    gives: { stop: FAILS, skip: gave({ n: 1 }), fallback: FELL_BACK },
  },
  {
    name: 'parallel first: a list with the first success',
    steps: [{ id: 'p', type: 'parallel', mergeStrategy: 'first', branches }],
    gives: [gave({ n: 2 })],
  },
  {
    name: 'parallel first: no success',
    steps: [before, { id: 'p', type: 'parallel', merge_strategy: 'first', branches: [bad('x'), bad('y')] }],
    gives: {
      stop: 'ALL_FAILED',
      skip: gave({ n: 1 }),
      fallback: { fallback: true, error: expect.stringContaining('x: ') } as unknown as Json,
    },
  },
  {
    name: 'parallel majority: more than half succeeded',
    steps: [{ id: 'p', type: 'parallel', mergeStrategy: 'majority', branches }],
    gives: [gave({ n: 1 }), gave({ n: 2 })],
  },
  {
    name: 'parallel majority: half is not enough',
    steps: [before, { id: 'p', type: 'parallel', mergeStrategy: 'majority', branches: branches.slice(0, 2) }],
    gives: {
      stop: 'NO_MAJORITY',
      skip: gave({ n: 1 }),
      fallback: { fallback: true, error: expect.stringContaining('1 of 2') } as unknown as Json,
    },
  },
  {
    name: 'conditional: a reference counts by truthiness',
    steps: [
      {
        id: 'yes',
        type: 'conditional',
        condition: '$input.yes',
        ifTrue: echo('a', { n: '1' }),
        ifFalse: echo('b', { n: '2' }),
      },
      {
        id: 'no',
        type: 'conditional',
        condition: '$input.no',
        if_true: echo('c', { n: '3' }),
        if_false: echo('d', { was: '$yes.result.structuredContent.n', type: '$yes.content.0.type' }),
      },
    ],
    gives: gave({ was: 1, type: 'text' }),
  },
  {
    name: 'conditional: a longer condition is CEL, and without a branch there is no result',
    steps: [
      before,
      { id: 'c', type: 'conditional', condition: 'size($input.list) > 3', ifTrue: echo('a', { n: '2' }) },
    ],
    gives: gave({ n: 1 }),
  },
  {
    name: 'conditional: one that runs nothing inside of another has no result',
    steps: [
      before,
      {
        ...{ id: 'c', type: 'conditional', condition: 'true' },
        ifTrue: { id: 'inner', type: 'conditional', condition: '$input.no', ifTrue: echo('a', { n: '2' }) },
      },
    ],
    gives: gave({ n: 1 }),
  },
  {
    name: 'conditional: a reference without a value counts as false',
    steps: [
      bad('failing'),
      ...['$failing.result', '$failing.result.content.0', '$failing.n > 1', '$nowhere.at.all'].map((condition, at) => ({
        ...{ id: `c${at}`, type: 'conditional', condition },
        ...{ ifTrue: bad(`t${at}`), ifFalse: echo(`f${at}`, { at: String(at), none: '$failing.result' }) },
      })),
    ],
    gives: { stop: FAILS, skip: gave({ at: 3 }), fallback: gave({ at: 3, none: FELL_BACK }) },
  },
  {
    name: 'conditional: a failed step of the branch',
    steps: [before, { id: 'c', type: 'conditional', condition: 'true', ifTrue: [echo('a', { n: '2' }), bad('x')] }],
    gives: { stop: FAILS, skip: gave({ n: 2 }), fallback: FELL_BACK },
  },
  {
    name: 'fanout: calls with {item, index}, gives the tool results',
    steps: [{ id: 'f', type: 'fanout', toolName: 'echo', splitExpression: '$input.list', maxConcurrency: 2 }],
    gives: [item(1, 0), item(2, 1), item(3, 2)],
  },
  {
    name: 'fanout: a failed item',
    steps: [before, { id: 'f', type: 'fanout', toolName: 'bad-item', splitExpression: '$input.list' }],
    gives: { stop: FAILS, skip: gave({ n: 1 }), fallback: FELL_BACK },
  },
  {
    name: 'fanout: a failed item and mergeTool, which is not called',
    steps: [
      before,
      { ...{ id: 'f', type: 'fanout', toolName: 'bad-item' }, splitExpression: '$input.list', mergeTool: 'bad' },
    ],
    gives: { stop: FAILS, skip: gave({ n: 1 }), fallback: FELL_BACK },
  },
  {
    name: 'fanout: mergeTool gets {results}',
    steps: [{ id: 'f', type: 'fanout', toolName: 'echo', split_expression: '$input.list', merge_tool: 'join' }],
    gives: gave({ joined: 3 }),
  },
  {
    name: 'loop: tests first, ends quietly at maxIterations, gives a list',
    steps: [
      {
        id: 'l',
        type: 'loop',
        condition: '$iteration < 5',
        maxIterations: 3,
        body: echo('a', { i: '$iteration', before: '$loopResults.0.i' }),
      },
    ],
    gives: [gave({ i: 0 }), gave({ i: 1 }), gave({ i: 2 })],
  },
  {
    name: 'loop: loopResults has the tool results of the iterations before',
    steps: [
      {
        ...{ id: 'l', type: 'loop', condition: 'true', maxIterations: 2 },
        body: echo('a', { first: '$loopResults.0.structuredContent', none: '$loopResults.7' }),
      },
    ],
    gives: [gave({}), gave({ first: {} })],
  },
  {
    name: 'loop: no iteration',
    steps: [{ id: 'l', type: 'loop', condition: '$input.no', maxIterations: 3, body: bad('x') }],
    gives: [],
  },
  {
    name: 'loop: a failed body',
    steps: [{ id: 'l', type: 'loop', condition: '$var.iteration < 2', max_iterations: 9, body: bad('x') }],
    gives: { stop: FAILS, skip: [null, null], fallback: [FELL_BACK, FELL_BACK] },
  },
  {
    name: 'pipeline: source, filter, enrich, transform, sink',
    steps: [
      {
        id: 'p',
        type: 'pipeline',
        steps: [
          { id: 'source', toolName: 'list' },
          { filter: '$item.n != 2' },
          { enrich: { toolName: 'echo', inputMapping: { n: '$item.n' }, as: 'more' } },
          { transform: { n: '$item.more.n' } },
          { sink: echo('sink', { rows: '$prev' }) },
        ],
      },
    ],
    gives: { rows: [{ n: 1 }, { n: 3 }] }, // The data of the call: `$prev` of a later part would be the same.
  },
  {
    name: 'pipeline: a failed call of enrich',
    steps: [
      before,
      {
        ...{ id: 'p', type: 'pipeline' },
        steps: [
          { id: 'source', toolName: 'list' },
          { enrich: { toolName: 'bad-item', inputMapping: { n: '$item.n' } } },
        ],
      },
    ],
    gives: { stop: FAILS, skip: gave({ n: 1 }), fallback: FELL_BACK },
  },
];

describe.each(TABLE)('$name', ({ name, steps, gives }) => {
  const byHandling = gives !== null && typeof gives === 'object' && 'stop' in gives;

  for (const errorHandling of ['stop', 'skip', 'fallback'] as const) {
    verifies('W1', `classic ${name}: ${errorHandling}`, async () => {
      const { workflow, problems } = compileWorkflow({ value: { name: 'classic', steps, errorHandling } });
      expect(problems.filter(({ level }) => level === 'error')).toEqual([]);
      if (!workflow) throw new Error('It does not compile.');
      const { output, error } = await simulate(workflow, world, { input: INPUT });
      expect(error ? error.code : output).toEqual(byHandling ? (gives as JsonObject)[errorHandling] : gives);
    });
  }
});
