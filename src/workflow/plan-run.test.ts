import { describe, expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import type { JsonObject, Target } from '../core/call.ts';
import { compileWorkflow } from './definition/compile-workflow.ts';
import { planRun } from './plan-run.ts';

const definition = {
  name: 'write',
  inputSchema: {
    type: 'object',
    properties: { path: { type: 'string' }, text: { type: 'string' } },
    required: ['path', 'text'],
  },
};
const facts = { readOnly: false, destructive: true, costPerCall: 1 } as Target['facts'];
const target = {
  kind: 'tool',
  publicName: 'write',
  servers: ['s'],
  name: 'write',
  definition,
  digest: '',
  facts,
  flags: [],
} as Target;

async function plan(steps: string, input: JsonObject) {
  const schema =
    'input: { type: object, required: [path], properties: { path: { type: string }, end: { type: string, default: txt } } }';
  const text = `heddle: 1\nname: flow\n${schema}\nvar: { text: hello }\nsteps:\n${steps}`;
  const { workflow, digest = '', places, problems } = compileWorkflow({ text, language: 'yaml' });
  if (!workflow) throw new Error(JSON.stringify(problems));
  const decided: unknown[] = [];
  const dryRun = await planRun(workflow, input, {
    digest,
    places,
    describe: (tool) => (tool === 's.write' ? target : undefined),
    async decide(tool, known) {
      decided.push([tool, known]);
      return tool === 's.write' ? { effect: 'ask', rule: 'destructive' } : { effect: 'deny' };
    },
  });
  return { dryRun, decided, digest };
}

describe('the plan of a run', () => {
  verifies('W6', 'has the known part of each input, the decision on each call and the approvals', async () => {
    const steps = `  - { id: write, tool: s.write, input: { path: $input.path, text: $var.text }, compensate: { tool: s.undo } }
  - { id: ok, approval: { title: Go on } }
  - { id: again, tool: s.write, input: { path: $input.path, text: $write.result.text, end: $input.end } }
  - { id: whole, tool: s.write, input: $write.result }
  - { id: code, code: { ts: 'return 1', tools: [s.write] } }`;
    const { dryRun, decided, digest } = await plan(steps, { path: 'a' });
    expect(dryRun).toMatchObject({
      workflow: 'flow',
      digest,
      steps: [
        {
          path: 'write',
          kind: 'tool',
          tool: 's.write',
          effect: 'ask',
          rule: 'destructive',
          input: { path: 'a', text: 'hello' },
        },
        { path: 'write/~compensate', tool: 's.undo', effect: 'deny' },
        { path: 'ok', kind: 'approval' },
        { path: 'again', effect: 'ask', input: { path: 'a', end: 'txt' }, later: ['text'] },
        { path: 'whole', input: {}, later: [] },
        { path: 'code', kind: 'code' },
        { path: 'code', kind: 'code', tool: 's.write', input: {}, later: [] },
      ],
      approvals: ['write', 'ok', 'again', 'whole', 'code'],
      estimate: { minCalls: 3, maxCalls: 29, minCost: 3, maxCost: 28 },
    });
    expect(dryRun.steps.some(({ problem }) => problem !== undefined)).toBe(false);
    expect(decided[0]).toEqual(['s.write', { path: 'a', text: 'hello' }]);
  });

  verifies('W6', 'says how the input of the run and of its steps breaks their schemas', async () => {
    const { dryRun } = await plan('  - { id: write, tool: s.write, input: { path: $input.path, text: $input.n } }', {
      n: 3,
    });
    expect(dryRun.problems).toMatchObject([
      { code: 'INPUT_INVALID', message: 'The input does not fit the workflow: the input lacks `path`.' },
      { code: 'FIELD_UNKNOWN', level: 'warning' },
    ]);
    expect(dryRun.steps[0]?.problem).toContain('`$input.path` has no value');
    const wrong = await plan(
      '  - { id: write, tool: s.write, input: { path: "${{ $input.n }}", text: $later.x } }\n  - { id: later, tool: s.write }',
      { path: 'x', n: 3 },
    );
    expect(wrong.dryRun.steps[0]?.problem).toContain('path');
    expect(wrong.dryRun.problems.map(({ code }) => code)).toContain('REFERENCE_FORWARD');
  });
});
