import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { verifies } from '../../../test/requirements.ts';
import type { JsonObject } from '../../core/call.ts';
import { compileWorkflow } from './compile-workflow.ts';
import { workflowJsonSchema } from './json-schema.ts';

const ROOT = join(import.meta.dirname, '../../..');
const EXAMPLES = join(ROOT, 'examples/workflows');
const accepts = new Ajv2020({ strict: false, validateFormats: false }).compile(workflowJsonSchema());
const isCompiled = (value: JsonObject) => compileWorkflow({ value }).workflow !== undefined;

verifies('W1', 'docs/workflow.schema.json equals the output of `npm run docs`', () => {
  const published: unknown = JSON.parse(readFileSync(join(ROOT, 'docs/workflow.schema.json'), 'utf8'));
  expect(published).toEqual(workflowJsonSchema());
});

for (const file of readdirSync(EXAMPLES).filter((name) => name.endsWith('.yaml'))) {
  verifies('W1', `the JSON Schema accepts the example ${file}`, () => {
    expect(accepts(parse(readFileSync(join(EXAMPLES, file), 'utf8'))), JSON.stringify(accepts.errors)).toBe(true);
  });
}

const rich = (step: JsonObject, more: JsonObject = {}) => ({
  $schema: 'x',
  heddle: 1,
  name: 'a',
  steps: [step],
  ...more,
});
const classic = (step: JsonObject) => ({ name: 'a flow', steps: [step], errorHandling: 'skip' });
const tool = { id: 't', tool: 's.t' };

const VALID: readonly JsonObject[] = [
  rich({ id: 'a', parallel: { b: { tool: 's.t' }, c: [tool] }, mode: 'first', allowSideEffects: true }),
  // biome-ignore lint/suspicious/noThenProperty: the format has this key.
  rich({ id: 'a', switch: [{ when: true, then: tool }], else: [{ ...tool, id: 'u' }] }),
  rich({ id: 'a', fanout: { items: [1], as: 'x', do: tool, tolerate: { count: 1 }, merge: { tool: 's.m' } } }),
  rich({ id: 'a', loop: { until: '$t.result.ok', maxIterations: 2, do: [tool], delay: '1s', carry: '$t.result' } }),
  rich({
    id: 'a',
    pipeline: [tool, { transform: '$prev' }, { filter: '$item.ok' }, { enrich: { tool: 's.e', as: 'e' } }],
  }),
  rich({
    id: 'a',
    approval: { title: 'x', schema: { type: 'object', properties: {} }, approvers: ['role:approver'], expires: '1h' },
  }),
  rich({ id: 'a', wait: { for: '1m' } }),
  rich({ id: 'a', workflow: 'other', input: '$input', retry: { max: 1, on: ['UPSTREAM_FAILED'] } }),
  rich({ id: 'a', code: { js: 'return 1', limits: { memory: '8MiB' } }, fallback: { tool: 's.t' } }),
  rich(
    { ...tool, type: 'tool', compensate: { tool: 's.u' }, output: { x: '$t.result' }, idempotency: 'auto' },
    { limits: { wall: '2d' }, var: { x: 1 } },
  ),
  classic({ id: 'a', toolName: 'x', inputMapping: { a: '$input.a' }, timeout: 5 }),
  classic({ id: 'a', branches: [{ tool_name: 'x' }, [{ toolName: 'y' }]], merge_strategy: 'first' }),
  classic({ id: 'a', condition: '$x', ifTrue: { toolName: 'x' }, if_false: [{ toolName: 'y' }] }),
  classic({ id: 'a', toolName: 'x', splitExpression: '$input.list', mergeTool: 'm' }),
  classic({ id: 'a', condition: 'true', maxIterations: 3, body: { toolName: 'x' } }),
  classic({ id: 'a', steps: [{ toolName: 'x' }, { transform: {} }, { sink: { toolName: 'y' } }] }),
];

const INVALID: readonly JsonObject[] = [
  rich({ tool: 's.t' }),
  rich({ id: 'a' }),
  rich({ id: 'a b', tool: 's.t' }),
  rich({ ...tool, timeout: 5 }),
  rich({ ...tool, timeout: '5 seconds' }),
  rich({ ...tool, retires: {} }),
  rich({ ...tool, onError: 'ignore' }),
  rich({ ...tool, input: 'text' }),
  rich({ ...tool, sequential: [tool] }),
  rich({ id: 'a', set: { x: 1 } }),
  rich(tool, { concurrency: { max: 1 } }),
  rich(tool, { heddle: 2 }),
  rich({ id: 'a', loop: { until: 'true', do: [tool] } }),
  rich({ id: 'a', loop: { until: 'true', maxIterations: 1001, do: [tool] } }),
  rich({ id: 'a', approval: { title: 'x', onExpire: 'approve' } }),
  rich({ id: 'a', approval: { title: 'x', approvers: ['group:oncall'] } }),
  rich({ id: 'a', wait: { event: { name: 'x' } } }),
  rich({ id: 'a', wait: {} }),
  rich({ id: 'a', workflow: 'b@2' }),
  rich({ id: 'a', code: {} }),
  rich({ id: 'a', parallel: [tool], quorum: 1 }),
  rich({ id: 'a', parallel: {} }),
  rich({ id: 'a', switch: [] }),
  classic({ id: 'a', toolName: 'x', timeout: '5s' }),
  classic({ id: 'a', type: 'unknown', toolName: 'x' }),
  classic({ id: 'a', condition: 'true', body: { toolName: 'x' } }),
  classic({ id: 'a', branches: [] }),
  classic({ id: 'a', toolNam: 'x' }),
  { name: 'a' },
];

it.each(VALID)('the compiler and the JSON Schema accept %j', (value) => {
  expect(compileWorkflow({ value }).problems).toEqual([]);
  expect(accepts(value), JSON.stringify(accepts.errors)).toBe(true);
});

it.each(INVALID)('the compiler and the JSON Schema refuse %j', (value) => {
  expect([isCompiled(value), accepts(value)]).toEqual([false, false]);
});
