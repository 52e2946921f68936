import fc from 'fast-check';
import { expect } from 'vitest';
import type { JsonObject } from '../../src/core/call.ts';
import { compileWorkflow } from '../../src/workflow/definition/compile-workflow.ts';
import { type Simulation, simulate } from '../../src/workflow/fixtures.ts';
import type { World } from '../../src/workflow/steps/fixtures.ts';
import { verifies } from '../requirements.ts';
import type { ClassicStep } from './classic-form.ts';
import { type ClassicResult, evaluateClassic } from './classic-reference.ts';
import { classicInput, classicWorkflow } from './classic-workflows.ts';
import { fakeResult, fakeTools, normalise } from './fake-tools.ts';

const RUNS = process.env.HEDDLE_TEST_SCALE === 'full' ? 20_000 : 2000;
const CASES = fc.sample(fc.tuple(classicWorkflow, classicInput), { numRuns: 300, seed: 1 });

const stepsIn = (value: unknown): readonly ClassicStep[] => {
  if (typeof value !== 'object' || value === null) return [];
  const inner = Object.values(value).flatMap(stepsIn);
  return 'type' in value ? [value as ClassicStep, ...inner] : inner;
};

verifies('W1', 'random classic workflows have every step kind and unique ids', () => {
  const found = new Set<string | undefined>();
  for (const [{ steps }] of CASES) {
    const all = stepsIn(steps);
    for (const { type } of all) found.add(type);
    expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
  }
  expect([...found].sort()).toEqual(['conditional', 'fanout', 'loop', 'parallel', 'pipeline', 'sequential']);
});

verifies(
  'W1',
  'the reference gives the same result for the same random workflow, and all kinds of results',
  async () => {
    const seen = { success: 0, failure: 0, skip: 0, fallback: 0, calls: 0 };
    for (const [workflow, input] of CASES) {
      const result = await evaluateClassic(workflow, input, fakeTools);
      expect(await evaluateClassic(workflow, input, fakeTools)).toEqual(result);
      seen[result.success ? 'success' : 'failure']++;
      seen.skip += Number(result.logs.some(({ type }) => type === 'skip'));
      seen.fallback += Number(
        result.success && workflow.errorHandling === 'fallback' && result.logs.some(({ type }) => type === 'error'),
      );
      seen.calls += result.calls.length;
    }
    for (const [name, count] of Object.entries(seen)) expect(count, name).toBeGreaterThan(20);
  },
);

const world: World = {
  tool({ tool, input }) {
    try {
      return { raw: fakeResult(tool, input) as unknown as JsonObject };
    } catch {
      return { error: { code: 'UPSTREAM_FAILED', mayHaveActed: false } };
    }
  },
};

const textsOf = (calls: readonly { readonly tool: string; readonly input: unknown }[]) =>
  calls.map(({ tool, input }) => `${tool} ${JSON.stringify(normalise(input))}`);

/** Removes the texts of `some` from `all`, each once. Fails if one is not there. */
function without(all: readonly string[], some: readonly string[]): readonly string[] {
  const left = [...all];
  for (const one of some) {
    expect(left).toContain(one);
    left.splice(left.indexOf(one), 1);
  }
  return left;
}

interface Log {
  readonly stepId: string;
  readonly type: string;
  readonly message?: string;
}

/** Returns the ids of steps that failed and were skipped. Heddle also logs conditionals that ran nothing. */
const skips = (logs: readonly Log[]) =>
  new Set(
    logs.flatMap(({ stepId, type, message = '' }) => (type === 'skip' && !NOTHING.test(message) ? [stepId] : [])),
  );
const NOTHING = /no condition holds/;

function expectEqual(run: Simulation, expected: ClassicResult, isConcurrent: boolean): void {
  expect(run.status).toBe(expected.success ? 'succeeded' : 'failed');
  if (expected.success) expect(normalise(run.output)).toEqual(normalise(expected.output));
  const made = textsOf(run.durable.calls);
  const calls = expected.calls.map(({ toolName, args, optional }) => ({ tool: toolName, input: args, optional }));
  const extra = without(made, textsOf(calls.filter(({ optional }) => !optional)));
  without(textsOf(calls.filter(({ optional }) => optional)), extra);
  if (!isConcurrent) expect(made).toEqual(textsOf(calls));
  expect(skips(run.durable.logs)).toEqual(skips(expected.logs));
}

verifies(
  'W1',
  'a random classic workflow has the output, the calls and the skipped steps of the reference',
  async () => {
    await fc.assert(
      fc.asyncProperty(classicWorkflow, classicInput, async (value, input) => {
        const { workflow, problems } = compileWorkflow({ value: value as unknown as JsonObject });
        expect(problems.filter(({ level }) => level === 'error')).toEqual([]);
        if (!workflow) throw new Error('It does not compile.');
        const run = await simulate(workflow, world, { input: input as JsonObject });
        const isConcurrent = /"type":"(parallel|fanout|pipeline)"/.test(JSON.stringify(value));
        expectEqual(run, await evaluateClassic(value, input, fakeTools), isConcurrent);
      }),
      { numRuns: RUNS },
    );
  },
  600_000,
);
