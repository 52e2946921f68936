import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { Facts } from '../../core/call/facts.ts';
import type { Step, Workflow } from '../../workflow/definition/canonical.ts';
import { type NamesInWorkflows, workflowFacts } from './workflow-facts.ts';

const READS: Facts = {
  category: 'x',
  riskLevel: 'low',
  readOnly: true,
  destructive: false,
  idempotent: true,
  concurrent: true,
  openWorld: false,
  requiresApproval: false,
  builtin: false,
};
const FACTS: Readonly<Record<string, Facts>> = {
  'a.read': READS,
  'a.paid': { ...READS, costPerCall: 2, timeoutMs: 5, rateLimit: { maxCalls: 1, windowMs: 1 } },
  'a.write': { ...READS, readOnly: false, idempotent: false, riskLevel: 'medium', taints: ['private'] },
  'a.drop': { ...READS, readOnly: false, destructive: true, riskLevel: 'high', openWorld: true },
  'a.believed': { ...READS, forManagedRules: { ...READS, readOnly: false, riskLevel: 'medium' } },
};

const base = (id: string) => ({ id, onError: 'stop' }) as const;
const input = { object: {} };
const tool = (name: string): Step => ({ ...base(name.replace('.', '-')), kind: 'tool', tool: name, input });
const flow = (name: string, steps: readonly Step[]): Workflow => ({
  heddle: 1,
  name,
  form: 'rich',
  wallMs: 1000,
  steps,
});
const sub = (workflow: string): Step => ({ ...base(`to-${workflow}`), kind: 'workflow', workflow, input });

function factsOf(steps: readonly Step[], others: readonly Workflow[] = []): Facts {
  const names: NamesInWorkflows = {
    factsOf: (name) => FACTS[name],
    workflow: (name) => others.find((one) => one.name === name),
  };
  return workflowFacts(flow('main', steps), names);
}

verifies('W4', 'is read-only only if every tool of the workflow is', () => {
  expect(factsOf([tool('a.read'), tool('a.read')])).toMatchObject({ readOnly: true, riskLevel: 'low', builtin: false });
  expect(factsOf([tool('a.read'), tool('a.write')])).toMatchObject({
    readOnly: false,
    riskLevel: 'medium',
    taints: ['private'],
  });
});

verifies('W4', 'takes the worst of the tools in every place of a definition', () => {
  const places: readonly Step[] = [
    { ...base('s'), kind: 'sequential', steps: [tool('a.drop')] },
    { ...base('p'), kind: 'pipeline', parts: [{ enrich: { tool: 'a.drop', input, as: 'x' } }] },
    { ...base('p'), kind: 'pipeline', parts: [{ step: tool('a.drop') }] },
    { ...base('b'), kind: 'parallel', mode: 'all', shape: 'keyed', branches: [{ id: 'b', steps: [tool('a.drop')] }] },
    { ...base('w'), kind: 'switch', cases: [{ when: { cel: 'true' }, steps: [tool('a.drop')] }] },
    { ...base('w'), kind: 'switch', cases: [], else: [tool('a.drop')] },
    {
      ...base('f'),
      ...{ kind: 'fanout', items: { value: [] }, as: 'item', steps: [], maxConcurrency: 1, shape: 'report' },
      merge: { tool: 'a.drop', input },
    } as Step,
    { ...tool('a.read'), compensate: { tool: 'a.drop', input } },
    { ...tool('a.read'), onError: 'fallback', fallback: tool('a.drop') },
    {
      ...base('c'),
      ...{ kind: 'code', source: '', tools: ['a.drop'], limits: { wallMs: 1, memoryBytes: 1, calls: 1 } },
    } as Step,
    sub('other'),
    tool('mcp__workflow__other'),
  ];
  const other = flow('other', [tool('a.drop')]);
  for (const place of places) {
    const facts = factsOf([tool('a.read'), place], [other]);
    expect.soft(facts, JSON.stringify(place)).toMatchObject({ destructive: true, riskLevel: 'high', openWorld: true });
  }
});

verifies('W4', 'counts a tool or workflow that is not known as one that may do anything', () => {
  for (const step of [tool('b.unknown'), sub('missing'), tool('mcp__workflow__missing')]) {
    expect.soft(factsOf([step])).toMatchObject({ readOnly: false, destructive: true, riskLevel: 'high' });
  }
});

verifies('W4', 'adds the costs of its steps, which are charged by themselves, and has none of their limits', () => {
  const facts = factsOf([tool('a.paid'), tool('a.paid'), sub('other')], [flow('other', [tool('a.paid')])]);
  expect(facts).toMatchObject({ costPerCall: 6, paidBySteps: true });
  expect([facts.timeoutMs, facts.rateLimit]).toEqual([undefined, undefined]);
});

verifies('W4', 'shows the rules of an organisation the facts without settings of the user', () => {
  const facts = factsOf([tool('a.believed')]);
  expect(facts).toMatchObject({ readOnly: true, forManagedRules: { readOnly: false, riskLevel: 'medium' } });
});

verifies('W4', 'ends for workflows that call one another, however often', () => {
  const names = ['b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'];
  const all = names.map((name) => flow(name, [...names, ...names, ...names].map(sub)));
  expect(factsOf([sub('b'), sub('main')], [...all, flow('main', [])])).toMatchObject({ readOnly: true });
  const worst = flow('b', [tool('a.drop'), sub('main')]);
  expect(factsOf([sub('b')], [worst])).toMatchObject({ destructive: true });
});

verifies(
  'W4',
  'takes the facts of a workflow that a step calls as a tool from its definition, under either name',
  () => {
    const other = flow('other', [tool('a.drop')]);
    for (const name of ['mcp__workflow__other', 'workflow.other'])
      expect(factsOf([tool(name)], [other])).toMatchObject({ destructive: true, riskLevel: 'high', openWorld: true });
  },
);
