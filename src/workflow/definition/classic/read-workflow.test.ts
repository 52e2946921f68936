import { expect, it } from 'vitest';
import { verifies } from '../../../../test/requirements.ts';
import type { JsonObject } from '../../../core/call.ts';
import { compileWorkflow } from '../compile-workflow.ts';

const compile = (steps: readonly JsonObject[], rest: JsonObject = {}) =>
  compileWorkflow({ value: { name: 'classic flow', steps, ...rest } });
function stepOf(step: JsonObject, rest?: JsonObject) {
  const { workflow, problems } = compile([step], rest);
  expect(problems).toEqual([]);
  expect(workflow).toMatchObject({ form: 'classic', name: 'classic flow' });
  return workflow?.steps[0];
}

const ref = (text: string, name: string, ...parts: readonly (string | number)[]) => ({ ref: { name, parts, text } });
const call = (id: string, tool = 'echo') => ({ id, onError: 'stop', kind: 'tool', tool, input: { value: {} } });

/** A classic step of each type, as it is written in camelCase and in snake_case, and its canonical form. */
const GOLDEN: readonly (readonly [type: string, camel: JsonObject, snake: JsonObject, canonical: object])[] = [
  [
    'sequential',
    {
      type: 'sequential',
      id: 'a',
      toolName: 'echo',
      inputMapping: { q: '$input.q', n: '5' },
      outputMapping: { x: '$a.content' },
      timeout: 250,
    },
    {
      type: 'sequential',
      id: 'a',
      tool_name: 'echo',
      input_mapping: { q: '$input.q', n: '5' },
      output_mapping: { x: '$a.content' },
      timeout: 250,
    },
    {
      ...{ id: 'a', onError: 'stop', timeoutMs: 250, kind: 'tool', tool: 'echo' },
      input: { object: { q: ref('$input.q', 'input', 'q'), n: { value: 5 } } },
      output: { x: ref('$a.content', 'a', 'content') },
    },
  ],
  [
    'parallel',
    {
      type: 'parallel',
      id: 'p',
      mergeStrategy: 'majority',
      timeout: 9,
      branches: [{ toolName: 'echo' }, { id: 'b', toolName: 'echo' }, [{ toolName: 'echo' }, { toolName: 'x' }]],
    },
    {
      type: 'parallel',
      id: 'p',
      merge_strategy: 'majority',
      timeout: 9,
      branches: [{ tool_name: 'echo' }, { id: 'b', tool_name: 'echo' }, [{ tool_name: 'echo' }, { tool_name: 'x' }]],
    },
    {
      ...{ id: 'p', onError: 'stop', timeoutMs: 9, kind: 'parallel', mode: 'most', shape: 'list' },
      branches: [
        { id: 'p-1', steps: [call('p-1')] },
        { id: 'b', steps: [call('b')] },
        { id: '3', steps: [call('p-3-1'), call('p-3-2', 'x')] },
      ],
    },
  ],
  [
    'conditional',
    {
      type: 'conditional',
      id: 'c',
      condition: '$a.result.n > 3',
      ifTrue: { toolName: 'echo' },
      ifFalse: [{ id: 'z', toolName: 'x' }],
    },
    {
      type: 'conditional',
      id: 'c',
      condition: '$a.result.n > 3',
      if_true: { tool_name: 'echo' },
      if_false: [{ id: 'z', tool_name: 'x' }],
    },
    {
      ...{ id: 'c', onError: 'stop', kind: 'switch' },
      cases: [{ when: { cel: 'scope["a"].result.n > 3' }, steps: [call('c-1')] }],
      else: [call('z', 'x')],
    },
  ],
  [
    'fanout',
    { type: 'fanout', id: 'f', toolName: 'echo', splitExpression: '$input.list', maxConcurrency: 3, mergeTool: 'join' },
    {
      type: 'fanout',
      id: 'f',
      tool_name: 'echo',
      split_expression: '$input.list',
      max_concurrency: 3,
      merge_tool: 'join',
    },
    {
      ...{ id: 'f', onError: 'stop', kind: 'fanout', as: 'item', maxConcurrency: 3, shape: 'contents' },
      items: ref('$input.list', 'input', 'list'),
      steps: [{ ...call('f-call'), input: { object: { item: ref('$item', 'item'), index: ref('$index', 'index') } } }],
      merge: { tool: 'join', input: { object: { results: ref('$items', 'items') } } },
    },
  ],
  [
    'loop',
    { type: 'loop', id: 'l', condition: '$var.iteration < 3', maxIterations: 10, body: { toolName: 'echo' } },
    { type: 'loop', id: 'l', condition: '$var.iteration < 3', max_iterations: 10, body: { tool_name: 'echo' } },
    {
      ...{ id: 'l', onError: 'stop', kind: 'loop', maxIterations: 10, atMax: 'end', shape: 'list' },
      ...{ test: { while: { cel: 'scope["var"].iteration < 3' } }, steps: [call('l-1')] },
    },
  ],
  [
    'pipeline',
    {
      type: 'pipeline',
      id: 'i',
      steps: [
        { toolName: 'echo' },
        { transform: { n: '$item.x' } },
        { transform: '$prev.list' },
        { filter: '$item.n > 1' },
        { enrich: { toolName: 's.more', inputMapping: { id: '$item.id' } } },
        { sink: { id: 'end', toolName: 'x' } },
      ],
    },
    {
      type: 'pipeline',
      id: 'i',
      steps: [
        { tool_name: 'echo' },
        { transform: { n: '$item.x' } },
        { transform: '$prev.list' },
        { filter: '$item.n > 1' },
        { enrich: { tool_name: 's.more', input_mapping: { id: '$item.id' } } },
        { sink: { id: 'end', tool_name: 'x' } },
      ],
    },
    {
      ...{ id: 'i', onError: 'stop', kind: 'pipeline' },
      parts: [
        { step: call('i-1') },
        { transform: { object: { n: ref('$item.x', 'item', 'x') } }, each: true },
        { transform: ref('$prev.list', 'prev', 'list'), each: false },
        { filter: { cel: 'scope["item"].n > 1' } },
        { enrich: { tool: 's.more', input: { object: { id: ref('$item.id', 'item', 'id') } }, as: 'more' } },
        { step: call('end', 'x') },
      ],
    },
  ],
];

for (const [type, camel, snake, canonical] of GOLDEN) {
  verifies('W1', `compiles a classic ${type} step in both spellings, with or without its type`, () => {
    expect(stepOf(camel)).toEqual(canonical);
    expect(stepOf(snake)).toEqual(canonical);
    const { type: _, ...untyped } = camel;
    expect(stepOf(untyped)).toEqual(canonical);
  });
}

it.each(['skip', 'fallback', 'stop'])(
  'gives the errorHandling %s to every step that is not in a branch',
  (errorHandling) => {
    for (const key of ['errorHandling', 'error_handling']) {
      const inner = { id: 'p', branches: [[{ id: 'c', condition: 'true', ifTrue: { toolName: 'a' } }]] };
      const step = { id: 'l', condition: 'true', maxIterations: 1, body: inner };
      const branch = { steps: [{ onError: 'stop', cases: [{ steps: [{ onError: 'stop' }] }] }] };
      const expected = { onError: errorHandling, steps: [{ onError: errorHandling, branches: [branch] }] };
      expect(stepOf(step, { [key]: errorHandling })).toMatchObject(expected);
    }
  },
);

it.each([
  ['5', { value: 5 }],
  ['true', { value: true }],
  ['{"a": [1]}', { value: { a: [1] } }],
  ['"quoted"', { value: 'quoted' }],
  ['plain text', { value: 'plain text' }],
  ['007', { value: '007' }],
  [{ deep: '5' }, { value: { deep: '5' } }],
  ['$a.result.items.0.name', ref('$a.result.items.0.name', 'a', 'result', 'items', 0, 'name')],
  ['$$a', { value: '$$a' }],
  ['$5.00', { value: '$5.00' }],
  ['${{ $input.n + 1 }}', { cel: 'scope["input"].n + 1' }],
])('reads the classic mapping value %j', (text, expected) => {
  const step = stepOf({ id: 'a', toolName: 'x', inputMapping: { v: text, w: '$input' } });
  expect(step).toMatchObject({ input: { object: { v: expected } } });
});

it.each([
  ['$a.result.ok', { truthy: ref('$a.result.ok', 'a', 'result', 'ok') }],
  ['true', { truthy: { value: true } }],
  ['0', { truthy: { value: 0 } }],
  ["''", { truthy: { value: '' } }],
  ['[]', { truthy: { value: [] } }],
  ['{}', { truthy: { value: {} } }],
  [true, { truthy: { value: true } }],
  ['$a.result.n == 1', { cel: 'scope["a"].result.n == 1' }],
  ['!$a.result.ok', { cel: '!scope["a"].result.ok' }],
  ['$a.content.0.list.12.0 == "$a.0"', { cel: 'scope["a"].content[0].list[12][0] == "$a.0"' }],
])('reads the classic condition %j', (condition, when) => {
  expect(stepOf({ id: 'c', condition, ifTrue: { toolName: 'x' } })).toMatchObject({ cases: [{ when }] });
});

verifies('W1', 'tells the two forms apart', () => {
  const formOf = (value: JsonObject) => compileWorkflow({ value, name: 'a' });
  expect(formOf({ steps: [{ id: 'a', toolName: 'x' }] }).workflow?.form).toBe('classic');
  expect(formOf({ steps: [{ tool_name: 'x' }] }).workflow).toMatchObject({ form: 'classic', steps: [{ id: 'step1' }] });
  expect(formOf({ heddle: 1, steps: [{ id: 'a', tool: 'x' }] }).workflow?.form).toBe('rich');
  expect(formOf({ steps: [{ id: 'a', tool: 'x' }] }).problems).toMatchObject([
    { code: 'FORM_UNKNOWN', fix: 'Add `heddle: 1` at its top.' },
  ]);
  expect(formOf({ heddle: 2, steps: [] }).problems).toMatchObject([{ code: 'FORM_UNKNOWN' }]);
});

it.each([
  ['an unknown type', { id: 'a', type: 'paralel', branches: [] }, 'VALUE_INVALID', 'Did you mean `parallel`?'],
  ['an unknown key', { id: 'a', toolNam: 'x', type: 'sequential' }, 'KEY_UNKNOWN', 'Did you mean `toolName`?'],
  ['a step without a type', { id: 'a' }, 'STEP_KIND_UNKNOWN', ''],
  ['a loop without maxIterations', { id: 'a', condition: 'true', body: { toolName: 'x' } }, 'KEY_MISSING', ''],
  ['a key in two spellings', { id: 'a', toolName: 'x', tool_name: 'y' }, 'KEY_REPEATED', ''],
  ['a reserved id', { id: 'prev', toolName: 'x' }, 'ID_RESERVED', ''],
  [
    'a number that would be rounded',
    { id: 'a', toolName: 'x', inputMapping: { n: '9007199254740993' } },
    'NUMBER_NOT_EXACT',
    '',
  ],
  [
    'the key __proto__ in a text',
    { id: 'a', toolName: 'x', inputMapping: { n: '{"__proto__": 1}' } },
    'KEY_INVALID',
    '',
  ],
] as const)('refuses %s in a classic step', (_, step, code, fix) => {
  const { problems, workflow } = compile([step]);
  expect(workflow).toBeUndefined();
  expect(problems[0]).toMatchObject({ level: 'error', code, fix: expect.stringContaining(fix) });
});

verifies('W1', 'lets a classic flow use ids that only the rich form reserves, and hide an outer step', () => {
  const { workflow, problems } = compile([
    { id: 'index', toolName: 'x' },
    { id: 'loop', condition: 'true', maxIterations: 1, body: { id: 'index', toolName: 'x' } },
  ]);
  expect(workflow).toBeDefined();
  expect(problems).toMatchObject([{ level: 'warning', code: 'ID_SHADOWED' }]);
});
