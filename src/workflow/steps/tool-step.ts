import type { JsonObject } from '../../core/call.ts';
import type { StepBase, SubWorkflowStep, ToolStep } from '../definition/canonical.ts';
import { subWorkflowResult } from '../expressions/step-view.ts';
import type { StepCall } from '../run/durable.ts';
import { callTool, toInput } from './call-tool.ts';
import { evaluate } from './frame/evaluate.ts';
import type { ExecutionParts, Frame } from './frame/frame.ts';
import type { StepDone } from './frame/step-scope.ts';

/** Makes one attempt of a tool step. */
export async function runToolStep(
  execution: ExecutionParts,
  frame: Frame,
  { step, attempt }: { readonly step: StepBase & ToolStep; readonly attempt: number },
): Promise<StepDone> {
  const { tool, timeoutMs, onInDoubt = 'ask' } = step;
  const input = toInput(await evaluate(execution, frame.scope, step.input), frame.path);
  const idempotency = await idempotencyOf(execution, frame, step);
  return callTool(execution, frame, {
    ...{ tool, input, attempt, onInDoubt },
    ...(idempotency !== undefined && { idempotency }),
    ...(timeoutMs !== undefined && { timeoutMs }),
  });
}

async function idempotencyOf(
  execution: ExecutionParts,
  { scope }: Frame,
  { idempotency }: ToolStep,
): Promise<StepCall['idempotency']> {
  if (typeof idempotency !== 'object') return idempotency;
  const key = await evaluate(execution, scope, idempotency);
  return { key: typeof key === 'string' ? key : JSON.stringify(key) };
}

/** Makes one attempt of a `workflow` step: a call of its tool. Equal calls join one run, so it is repeated after a crash. */
export async function runSubWorkflow(
  execution: ExecutionParts,
  frame: Frame,
  { step, attempt }: { readonly step: StepBase & SubWorkflowStep; readonly attempt: number },
): Promise<StepDone> {
  const { workflow, timeoutMs } = step;
  const input = toInput(await evaluate(execution, frame.scope, step.input), frame.path);
  const done = await callTool(execution, frame, {
    ...{ tool: `mcp__workflow__${workflow}`, input, attempt, idempotency: 'auto', onInDoubt: 'retry' },
    ...(timeoutMs !== undefined && { timeoutMs }),
  });
  return { ...done, result: async () => subWorkflowResult((await done.raw()) as JsonObject) };
}
