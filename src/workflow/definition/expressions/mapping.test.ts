import { expect, it } from 'vitest';
import { verifies } from '../../../../test/requirements.ts';
import type { Json } from '../../../core/call.ts';
import { compileWorkflow } from '../compile-workflow.ts';

const steps = ['a', 'step-1', 'total'].map((id) => ({ id, tool: 's.t' }));
function mappingOf(x: Json) {
  const value = { heddle: 1, name: 'flow', steps: [...steps, { id: 'last', tool: 's.t', input: { x, y: '$input' } }] };
  const { workflow, problems } = compileWorkflow({ value });
  const last = workflow?.steps.at(-1);
  return last?.kind === 'tool' && 'object' in last.input ? last.input.object.x : problems;
}

const ref = (text: string, name: string, ...parts: readonly (string | number)[]) => ({ ref: { name, parts, text } });

it.each([
  ['$input', ref('$input', 'input')],
  ['$a.result.hits[0].url', ref('$a.result.hits[0].url', 'a', 'result', 'hits', 0, 'url')],
  ['$a["a b"].c-d[*].e', ref('$a["a b"].c-d[*].e', 'a', 'a b', 'c-d', '*', 'e')],
  ['$step-1.result', ref('$step-1.result', 'step-1', 'result')],
  ['$steps.a.result', ref('$steps.a.result', 'a', 'result')],
  ['$$input.x', { value: '$input.x' }],
  ['$5.00', { value: '$5.00' }],
  ['US$ 5', { value: 'US$ 5' }],
  ['$a and more', { value: '$a and more' }],
  ['${{ 1 + 2 }}', { cel: '1 + 2' }],
  ['$${{ 1 }}', { value: '${{ 1 }}' }],
  ['n = ${{ $a.result.n }}!', { template: ['n = ', { cel: 'scope["a"].result.n' }, '!'] }],
  ["${{ '}}' + $input.x }}", { cel: `'}}' + scope["input"].x` }],
  ["${{ {'a': {'b': 1}} }}", { cel: "{'a': {'b': 1}}" }],
  ['${{ $a.result }}${{ $input }}', { template: [{ cel: 'scope["a"].result' }, { cel: 'scope["input"]' }] }],
  [{ a: 1, b: ['x'] }, { value: { a: 1, b: ['x'] } }],
  [[1, '$input.x'], { list: [{ value: 1 }, ref('$input.x', 'input', 'x')] }],
  [{ a: '$input.x', b: null }, { object: { a: ref('$input.x', 'input', 'x'), b: { value: null } } }],
] as [Json, object][])('compiles the mapping %j', (text, expected) => {
  expect(mappingOf(text)).toEqual(expected);
});

it.each([
  ['$step-1.x > 1', 'scope["step-1"].x > 1'],
  ['$total-1', 'scope["total"]-1'],
  ['$total-1-1', 'scope["total"]-1-1'],
  ['$step-1-1', 'scope["step-1"]-1'],
  ["'$input' + $input.x", `'$input' + scope["input"].x`],
  ['"\\"$input" + $input.x', '"\\"$input" + scope["input"].x'],
  ['r"\\d$a" + $input.x', 'r"\\d$a" + scope["input"].x'],
  ["'''$a'$a''' + $a.b", `'''$a'$a''' + scope["a"].b`],
  ['$steps.a.b + $steps["step-1"].c', 'scope["a"].b + scope["step-1"].c'],
  ['$input.list.map(x, x + $a.n)', 'scope["input"].list.map(x, x + scope["a"].n)'],
])('rewrites the names of %s', (text, cel) => {
  expect(mappingOf(`\${{ ${text} }}`)).toEqual({ cel });
});

verifies('W2', 'refuses a `$` without a name and an unclosed string in an expression', () => {
  for (const text of ['${{ $ }}', "${{ 'a }}", '${{ $1 }}', '${{ 1 ']) {
    expect(mappingOf(text)).toMatchObject([{ code: 'EXPRESSION_INVALID', level: 'error' }]);
  }
});

verifies('W2', 'warns of a reference inside of a text, which is never substituted', () => {
  const value = { heddle: 1, name: 'f', steps: [{ id: 'a', tool: 's.t', input: { x: 'Hello $input.name' } }] };
  const { problems, workflow } = compileWorkflow({ value });
  expect(problems).toMatchObject([{ level: 'warning', code: 'REFERENCE_IN_TEXT', fix: 'Write `${{ $input.name }}`.' }]);
  expect(workflow?.steps[0]).toMatchObject({ input: { value: { x: 'Hello $input.name' } } });
});
