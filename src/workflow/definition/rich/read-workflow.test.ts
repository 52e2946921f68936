import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { verifies } from '../../../../test/requirements.ts';
import type { JsonObject } from '../../../core/call.ts';
import { compileWorkflow } from '../compile-workflow.ts';

const EXAMPLES = join(import.meta.dirname, '../../../../examples/workflows');

/** Compiles the text of steps, which begin at line 3. */
const compile = (steps: string, head = '') =>
  compileWorkflow({ file: 'flow.yaml', text: `heddle: 1\nname: flow\n${head}steps:\n${steps}` });
const problemsOf = (steps: string, head?: string) =>
  compile(steps, head).problems.map(({ code, at, path }) => `${code} ${at?.line}:${at?.column} ${path ?? '-'}`);
const firstStep = (step: JsonObject) => {
  const { workflow, problems } = compileWorkflow({ value: { heddle: 1, name: 'flow', steps: [step] } });
  expect(problems).toEqual([]);
  return workflow?.steps[0];
};

for (const file of readdirSync(EXAMPLES).filter((name) => name.endsWith('.yaml'))) {
  verifies('W1', `compiles the example ${file}`, () => {
    const { problems, workflow } = compileWorkflow({ file, text: readFileSync(join(EXAMPLES, file), 'utf8') });
    expect(problems).toEqual([]);
    expect(workflow?.name).toBe(file.replace('.yaml', ''));
  });
}

verifies('W1', 'merges the defaults into steps that call tools, and lets a step override them', () => {
  const { workflow } = compile(
    [
      '  - { id: a, tool: s.t }',
      '  - { id: b, tool: s.t, timeout: 1s, retry: { max: 0 }, onError: stop }',
      '  - { id: c, sequential: [{ id: d, tool: s.t }] }',
    ].join('\n'),
    'defaults: { timeout: 20s, retry: { max: 2 }, onError: skip }\n',
  );
  const retry = { max: 2, backoff: 'exponential', initialMs: 500, capMs: 30_000, jitter: true };
  expect(workflow?.steps).toMatchObject([
    { id: 'a', timeoutMs: 20_000, retry, onError: 'skip' },
    { id: 'b', timeoutMs: 1000, retry: { max: 0 }, onError: 'stop' },
    { id: 'c', onError: 'skip', steps: [{ id: 'd', timeoutMs: 20_000, retry }] },
  ]);
  expect(workflow?.steps[2]).not.toHaveProperty('timeoutMs');
});

verifies('W1', 'reports several problems at once, each with its place and step', () => {
  const found = problemsOf(
    [
      '  - id: a',
      '    tool: s.t',
      '    timeout: 20',
      '    retires: { max: 1 }',
      '  - id: b',
      '    fanout: { items: $a.result, do: [{ id: c, tol: x }] }',
    ].join('\n'),
  );
  expect(found).toEqual(['VALUE_INVALID 6:14 a', 'KEY_UNKNOWN 7:5 a', 'STEP_KIND_UNKNOWN 9:38 b']);
});

const UNKNOWN = [
  ['set', '  - { id: a, set: { x: 1 } }'],
  ['concurrency', '  - { id: a, tool: s.t }', 'concurrency: { max: 1 }\n'],
  ['quorum', '  - { id: a, parallel: [{ id: b, tool: s.t }], quorum: 2 }'],
  ['approve', '  - { id: a, tool: s.t, approve: always }'],
  ['event', '  - { id: a, wait: { event: { name: x } } }'],
  ['detached', '  - { id: a, workflow: b, detached: true }'],
  ['onExpire', '  - { id: a, approval: { title: x, onExpire: approve } }'],
  ['workflow', '  - { id: a, workflow: b@2 }'],
] as const;
for (const [name, steps, head] of UNKNOWN) {
  verifies('W1', `refuses what is not part of the format: ${name}`, () => {
    const { workflow, problems } = compile(steps, head);
    expect(workflow).toBeUndefined();
    expect(problems[0]).toMatchObject({ level: 'error', message: expect.stringContaining(name) });
    expect(problems[0]?.at?.line).toBeGreaterThan(2);
  });
}

verifies('W1', 'suggests the key that was meant', () => {
  expect(compile('  - { id: a, tol: s.t }').problems[0]?.fix).toBe('Did you mean `tool`?');
  expect(compile('  - { id: a, tool: s.t, timout: 1s }').problems[0]?.fix).toBe('Did you mean `timeout`?');
  expect(compile('  - { id: a, tool: s.t, onError: skipp }').problems[0]?.fix).toBe('Did you mean `skip`?');
});

it.each([
  ['500ms', 500],
  ['20s', 20_000],
  ['1.5s', 1500],
  ['30m', 1_800_000],
  ['1h', 3_600_000],
  ['2d', 172_800_000],
])('reads the duration %s', (timeout, timeoutMs) => {
  expect(firstStep({ id: 'a', tool: 's.t', timeout })).toMatchObject({ timeoutMs });
});

it.each(['20', '20 s', '-1s', '0s', '31d', '1w', 'PT1S'])('refuses the duration %s', (timeout) => {
  expect(problemsOf(`  - { id: a, tool: s.t, timeout: "${timeout}" }`)).toEqual(['VALUE_INVALID 4:34 a']);
});

verifies('W3', 'compiles every kind of step', () => {
  const step = { id: 'x', tool: 's.t' };
  expect(
    firstStep({ id: 'a', parallel: { b: step, c: [step] }, mode: 'majority', by: '$branch.result' }),
  ).toMatchObject({
    ...{ kind: 'parallel', mode: 'majority', shape: 'keyed', by: { ref: { name: 'branch', parts: ['result'] } } },
    branches: [
      { id: 'b', steps: [{ id: 'x' }] },
      { id: 'c', steps: [{ id: 'x' }] },
    ],
  });
  expect(firstStep({ id: 'a', wait: { for: '2m' } })).toMatchObject({ kind: 'wait', for: 120_000 });
  expect(firstStep({ id: 'a', wait: { until: '2026-08-01T12:00:00Z' } })).toMatchObject({
    until: { value: '2026-08-01T12:00:00Z' },
  });
  expect(
    firstStep({ id: 'a', loop: { while: true, maxIterations: 3, do: [step], carry: { n: '$x.result' } } }),
  ).toMatchObject({
    ...{ kind: 'loop', test: { while: { cel: 'true' } }, maxIterations: 3, atMax: 'fail', shape: 'last' },
  });
  expect(firstStep({ id: 'a', fanout: { items: [1, 2], do: step } })).toMatchObject({
    ...{ kind: 'fanout', items: { value: [1, 2] }, as: 'item', maxConcurrency: 5, shape: 'report' },
  });
  expect(
    firstStep({
      id: 'a',
      pipeline: [step, { transform: { n: '$item.x' } }, { filter: '$item.n > 1' }, { enrich: { tool: 's.more' } }],
    }),
  ).toMatchObject({
    kind: 'pipeline',
    parts: [
      { step: { id: 'x' } },
      { transform: { object: { n: { ref: { name: 'item' } } } }, each: true },
      { filter: { cel: 'scope["item"].n > 1' } },
      { enrich: { tool: 's.more', as: 'more' } },
    ],
  });
  expect(firstStep({ id: 'a', tool: 's.t', fallback: { ok: false } })).toMatchObject({
    ...{ onError: 'fallback', fallback: { mapping: { value: { ok: false } } } },
  });
  expect(firstStep({ id: 'a', tool: 's.t', fallback: { tool: 's.u' } })).toMatchObject({
    fallback: { id: 'a-fallback' },
  });
  expect(firstStep({ id: 'a', code: { js: 'return 1' } })).toMatchObject({
    ...{ kind: 'code', tools: [], limits: { wallMs: 20_000, memoryBytes: 64 * 1024 ** 2, calls: 25 } },
  });
  expect(
    firstStep({ id: 'a', tool: 's.t', idempotency: '$input.order', onInDoubt: 'fail', type: 'tool' }),
  ).toMatchObject({
    ...{ idempotency: { ref: { name: 'input' } }, onInDoubt: 'fail' },
  });
});

const WRONG = [
  ['a loop without maxIterations', '  - { id: a, loop: { until: "true", do: [{ id: b, tool: s.t }] } }', 'KEY_MISSING'],
  [
    'a loop with 1 001 iterations',
    '  - { id: a, loop: { until: "true", maxIterations: 1001, do: [{ id: b, tool: s.t }] } }',
    'VALUE_INVALID',
  ],
  [
    'a loop with two conditions',
    '  - { id: a, loop: { until: "true", while: "true", maxIterations: 1, do: [{ id: b, tool: s.t }] } }',
    'VALUE_INVALID',
  ],
  ['a constant idempotency key', '  - { id: a, tool: s.t, idempotency: order }', 'VALUE_INVALID'],
  ['a wait longer than the run', '  - { id: a, wait: { for: 2h } }', 'WAIT_TOO_LONG'],
  ['a reserved id', '  - { id: loop, tool: s.t }', 'ID_RESERVED'],
  [
    'a reserved name of an item',
    '  - { id: a, fanout: { items: [], as: input, do: [{ id: b, tool: s.t }] } }',
    'ID_RESERVED',
  ],
  ['an id that is used twice', '  - { id: a, tool: s.t }\n  - { id: a, tool: s.t }', 'ID_REPEATED'],
  [
    'an id that is used again in a group',
    '  - { id: a, tool: s.t }\n  - { id: b, sequential: [{ id: a, tool: s.t }] }',
    'ID_REPEATED',
  ],
  [
    'an id that hides an outer one',
    '  - { id: a, tool: s.t }\n  - { id: b, fanout: { items: [], do: [{ id: a, tool: s.t }] } }',
    'ID_SHADOWED',
  ],
  ['two branches with one id', '  - { id: a, parallel: [{ id: b, tool: s.t }, { id: b, tool: s.t }] }', 'ID_REPEATED'],
  ['a step without id', '  - { tool: s.t }', 'ID_MISSING'],
  ['an expression that is not CEL', '  - { id: a, if: "$input.x >", tool: s.t }', 'EXPRESSION_INVALID'],
  ['a condition that is no condition', '  - { id: a, if: "1 + 2", tool: s.t }', 'EXPRESSION_INVALID'],
  ['a broken reference', '  - { id: a, tool: s.t, input: { x: $input..y } }', 'REFERENCE_INVALID'],
  ['an expression without end', '  - { id: a, tool: s.t, input: { x: "${{ 1" } }', 'EXPRESSION_INVALID'],
  ['input that is a text', '  - { id: a, tool: s.t, input: hello }', 'VALUE_INVALID'],
  ['a group of approvers', '  - { id: a, approval: { title: x, approvers: ["group:oncall"] } }', 'VALUE_INVALID'],
  ['no steps', '  []', 'VALUE_INVALID'],
] as const;
for (const [name, steps, code] of WRONG) {
  verifies('W1', `refuses ${name}`, () => {
    const { problems, workflow } = compile(steps);
    expect(problems[0]).toMatchObject({ level: 'error', code, at: { file: 'flow.yaml' } });
    expect(workflow).toBeUndefined();
  });
}

verifies('W1', 'shows how `retry` is written to one who gives a number', () => {
  const { problems } = compile('  - { id: a, tool: s.t, retry: 3 }');
  expect(problems).toMatchObject([
    { message: '`retry` is `3`, not an object such as `{max: 3}`.', fix: 'Write an object such as `{max: 3}`.' },
  ]);
});

verifies('W1', 'lets the cases of a switch and separate bodies use one id', () => {
  const body = '[{ id: x, tool: s.t }]';
  const steps = `  - { id: a, switch: [{ when: "true", then: ${body} }, { when: "true", then: ${body} }], else: ${body} }\n`;
  const bodies = `  - { id: b, fanout: { items: [], do: [{ id: y, tool: s.t }] } }\n  - { id: c, fanout: { items: [], do: [{ id: y, tool: s.t }] } }\n`;
  expect(compile(steps + bodies).problems).toEqual([]);
});

it.each([
  ['a type that is not object', { type: 'array' }, 'its type is not object'],
  ['a broken reference', { type: 'object', properties: { a: { $ref: '#/$defs/none' } } }, '$defs/none'],
])('refuses an input schema with %s', (_, input, reason) => {
  const { problems, workflow } = compileWorkflow({
    value: { heddle: 1, name: 'a', input, steps: [{ id: 'a', tool: 's.t' }] },
  });
  expect(workflow).toBeUndefined();
  expect(problems).toMatchObject([{ code: 'SCHEMA_INVALID', message: expect.stringContaining(reason) }]);
});

verifies('W3', 'refuses the form of an approval that no client can show', () => {
  const schema = { type: 'object', properties: { a: { type: 'object' } } };
  const value = { heddle: 1, name: 'a', steps: [{ id: 'a', approval: { title: 'x', schema } }] };
  expect(compileWorkflow({ value }).problems).toMatchObject([{ code: 'SCHEMA_INVALID', path: 'a' }]);
});

const many = (count: number) => Array.from({ length: count }, (_, at) => ({ id: `s${at}`, tool: 's.t' }));
const nested = (depth: number): JsonObject =>
  depth === 1 ? { id: 'd1', tool: 's.t' } : { id: `d${depth}`, sequential: [nested(depth - 1)] };
const limitsOf = (steps: readonly JsonObject[], limits?: JsonObject) =>
  compileWorkflow({ value: { heddle: 1, name: 'a', steps, ...(limits && { limits }) } }).problems.map(
    ({ level, code, message }) => `${level} ${code} ${message}`,
  );

verifies('W1', 'limits steps, nesting and branches: warns of unusual sizes, refuses more than the caps', () => {
  expect(limitsOf(many(200))).toEqual([]);
  expect(limitsOf(many(201))).toEqual(['warning LIMIT_EXCEEDED The workflow has 201 steps; the limit is 200.']);
  expect(limitsOf(many(201), { steps: 300 })).toEqual([]);
  expect(limitsOf(many(2001))).toEqual(['error LIMIT_EXCEEDED The workflow has 2001 steps; the limit is 2000.']);
  expect(limitsOf([nested(16)], { nesting: 16 })).toEqual([]);
  expect(limitsOf([nested(17)])).toEqual([
    'error LIMIT_EXCEEDED The workflow has 17 levels of steps; the limit is 16.',
  ]);
  expect(limitsOf([{ id: 'a', parallel: many(101) }])).toMatchObject([expect.stringContaining('1 to 100 branches')]);
  expect(limitsOf([{ id: 'a', tool: 's.t' }], { wall: '31d' })).toMatchObject([expect.stringContaining('30d')]);
});
