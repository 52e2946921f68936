import fc from 'fast-check';
import { expect } from 'vitest';
import type { Json } from '../../src/core/call.ts';
import { compileWorkflow } from '../../src/workflow/definition/compile-workflow.ts';
import { type Simulation, simulate } from '../../src/workflow/fixtures.ts';
import type { World } from '../../src/workflow/steps/fixtures.ts';
import { verifies } from '../requirements.ts';
import { evaluateFlow, respond } from './model/evaluate.ts';
import { anyFlow, type Flow, type FlowNode } from './model/flow.ts';
import { toSource } from './model/to-source.ts';

const RUNS = process.env.HEDDLE_TEST_SCALE === 'full' ? 5000 : 60;

type CallNode = FlowNode & { readonly kind: 'call' };

function callsOf(nodes: readonly FlowNode[]): readonly CallNode[] {
  return nodes.flatMap((node) => {
    if (node.kind === 'call') return [node];
    if (node.kind === 'parallel') return callsOf(node.branches.flat());
    if (node.kind === 'switch') return callsOf([...node.yes, ...node.no]);
    return node.kind === 'wait' ? [] : callsOf(node.steps);
  });
}

function worldOf({ steps, cancelAt }: Flow): World {
  const calls = new Map(callsOf(steps).map((call) => [call.id, call]));
  return {
    ...(cancelAt !== undefined && { cancelAt }),
    tool({ tool, path, attempt }) {
      const call = calls.get(tool);
      if (!call) return { result: { tool } };
      const { ms: afterMs, code, result } = respond(call, path, attempt);
      if (result) return { result, afterMs };
      return { afterMs, error: { code: code ?? '', mayHaveActed: false, isRetryable: code === 'BUSY' } };
    },
  };
}

function compiled(flow: Flow) {
  const { workflow, problems } = compileWorkflow({ value: toSource(flow) });
  if (!workflow) throw new Error(JSON.stringify(problems));
  return workflow;
}

/** Removes the texts of errors and the times of calls, which the model does not know. */
const withoutTexts = (value: Json | undefined): unknown =>
  JSON.parse(JSON.stringify(value ?? null), (key, item) => {
    const isText = typeof item === 'string' && (key === 'message' || key === 'error');
    if (key === 'latencyMs') return undefined;
    return isText ? '' : item;
  });

const keysOf = ({ durable }: Simulation) => durable.calls.map(({ path, attempt }) => `${path}#${attempt}`);
const compensationsIn = (keys: readonly string[]) => keys.filter((key) => key.endsWith('/~compensate#1'));

function expectAsModelled(flow: Flow, end: Simulation, calls: readonly string[]): void {
  const { output, code, ...expected } = evaluateFlow(flow);
  expect({ status: end.status, code: end.error?.code }).toEqual({ status: expected.status, code });
  expect(withoutTexts(end.output)).toEqual(withoutTexts(output));
  expect(new Set(calls)).toEqual(new Set(expected.calls));
  expect(compensationsIn(calls)).toEqual(compensationsIn(expected.calls));
}

for (const form of ['rich', 'classic'] as const) {
  verifies('W1', `a random ${form} flow has the output and the calls of the model`, async () => {
    await fc.assert(
      fc.asyncProperty(anyFlow(form), async (flow) => {
        const end = await simulate(compiled(flow), worldOf(flow));
        expectAsModelled(flow, end, keysOf(end));
        expect([...end.durable.open.keys()]).toEqual([]);
      }),
      { numRuns: RUNS },
    );
  });

  verifies('W5', `a random ${form} flow has the same end after crashes at random records`, async () => {
    await fc.assert(
      fc.asyncProperty(
        anyFlow(form),
        fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 3 }),
        async (flow, gaps) => {
          const workflow = compiled(flow);
          const world = worldOf(flow);
          let end = await simulate(workflow, world, { crashAfter: gaps[0] ?? 1 });
          const calls = keysOf(end);
          for (const gap of [...gaps.slice(1), Number.POSITIVE_INFINITY]) {
            if (end.status !== 'crashed') break;
            const { journal, time } = end.durable;
            const ended = new Set(journal.filter(({ kind }) => kind === 'ended').map(({ path }) => path));
            end = await simulate(workflow, world, { journal, startMs: time, crashAfter: journal.length + gap });
            const again = keysOf(end);
            expect(again.filter((key) => ended.has(key))).toEqual([]);
            calls.push(...again.filter((key) => !calls.includes(key)));
          }
          expectAsModelled(flow, end, calls);
        },
      ),
      { numRuns: RUNS },
    );
  });
}
