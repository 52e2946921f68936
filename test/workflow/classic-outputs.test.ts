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
const item = (of: number, index: number) => [{ type: 'text', text: JSON.stringify({ item: of, index }) }];
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
        whole: '$a.result.list',
        content: '$a.content.0.type',
        server: '$a.serverId',
        bad: '$a.isError',
      }),
    ],
    gives: { q: 'q', whole: [1, 2], content: 'text', server: 'test', bad: false },
  },
  {
    name: 'sequential: a failed step',
    steps: [before, bad('failing')],
    gives: { stop: FAILS, skip: { n: 1 }, fallback: FELL_BACK },
  },
  {
    name: 'sequential: outputMapping',
    steps: [{ ...echo('a', { n: '1' }), outputMapping: { twice: '$a.result.n' } }, echo('b', { t: '$a.twice' })],
    gives: { t: 1 },
  },
  {
    name: 'parallel all: a list in branch order',
    steps: [
      { id: 'p', type: 'parallel', branches: [branches[0] ?? {}, [echo('x', { n: '7' }), echo('y', { n: '2' })]] },
    ],
    gives: [{ n: 1 }, { n: 2 }],
  },
  {
    name: 'parallel all: a failed branch',
    steps: [{ id: 'p', type: 'parallel', mergeStrategy: 'all', branches }],
    gives: { stop: FAILS, skip: [{ n: 1 }, null, { n: 2 }], fallback: [{ n: 1 }, FELL_BACK, { n: 2 }] },
  },
  {
    name: 'parallel first: a list with the first success',
    steps: [{ id: 'p', type: 'parallel', mergeStrategy: 'first', branches }],
    gives: [{ n: 2 }],
  },
  {
    name: 'parallel first: no success',
    steps: [before, { id: 'p', type: 'parallel', merge_strategy: 'first', branches: [bad('x'), bad('y')] }],
    gives: {
      stop: 'ALL_FAILED',
      skip: { n: 1 },
      fallback: { fallback: true, error: expect.stringContaining('x: ') } as unknown as Json,
    },
  },
  {
    name: 'parallel majority: more than half succeeded',
    steps: [{ id: 'p', type: 'parallel', mergeStrategy: 'majority', branches }],
    gives: [{ n: 1 }, { n: 2 }],
  },
  {
    name: 'parallel majority: half is not enough',
    steps: [before, { id: 'p', type: 'parallel', mergeStrategy: 'majority', branches: branches.slice(0, 2) }],
    gives: {
      stop: 'NO_MAJORITY',
      skip: { n: 1 },
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
        if_false: echo('d', { was: '$yes.n' }),
      },
    ],
    gives: { was: 1 },
  },
  {
    name: 'conditional: a longer condition is CEL, and without a branch there is no result',
    steps: [
      before,
      { id: 'c', type: 'conditional', condition: 'size($input.list) > 3', ifTrue: echo('a', { n: '2' }) },
    ],
    gives: { n: 1 },
  },
  {
    name: 'conditional: a failed step of the branch',
    steps: [before, { id: 'c', type: 'conditional', condition: 'true', ifTrue: [echo('a', { n: '2' }), bad('x')] }],
    gives: { stop: FAILS, skip: { n: 2 }, fallback: FELL_BACK },
  },
  {
    name: 'fanout: calls with {item, index}, gives the contents',
    steps: [{ id: 'f', type: 'fanout', toolName: 'echo', splitExpression: '$input.list', maxConcurrency: 2 }],
    gives: [item(1, 0), item(2, 1), item(3, 2)],
  },
  {
    name: 'fanout: a failed item',
    steps: [{ id: 'f', type: 'fanout', toolName: 'bad-item', splitExpression: '$input.list' }],
    gives: { stop: FAILS, skip: [item(1, 0), null, item(3, 2)], fallback: [item(1, 0), FELL_BACK, item(3, 2)] },
  },
  {
    name: 'fanout: mergeTool gets {results}',
    steps: [{ id: 'f', type: 'fanout', toolName: 'echo', split_expression: '$input.list', merge_tool: 'join' }],
    gives: { joined: 3 },
  },
  {
    name: 'loop: tests first, ends quietly at maxIterations, gives a list',
    steps: [
      {
        id: 'l',
        type: 'loop',
        condition: '$iteration < 5',
        maxIterations: 3,
        body: echo('a', { i: '$iteration', before: '$loopResults' }),
      },
    ],
    gives: [
      { i: 0, before: [] },
      { i: 1, before: [{ i: 0, before: [] }] },
      {
        i: 2,
        before: [
          { i: 0, before: [] },
          { i: 1, before: [{ i: 0, before: [] }] },
        ],
      },
    ],
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
    gives: { rows: [{ n: 1 }, { n: 3 }] },
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
    gives: { stop: FAILS, skip: { n: 1 }, fallback: FELL_BACK },
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
