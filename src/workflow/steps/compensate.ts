import type { RunError } from '../../core/records/run.ts';
import { callTool, toInput } from './call-tool.ts';
import { evaluate } from './frame/evaluate.ts';
import { type Compensation, type ExecutionParts, type Frame, frameBelow } from './frame/frame.ts';
import { toStepFailure } from './frame/step-failure.ts';
import { isCallRetryable, withRetry } from './frame/with-retry.ts';

/**
 * Undoes the steps that have committed, the last one first. The order is that of the definition, so that it is the same
 * after a crash. A compensation that fails does not keep the others from running. Returns the errors.
 */
export async function compensate(execution: ExecutionParts, frame: Frame): Promise<readonly RunError[]> {
  const errors: RunError[] = [];
  for (const compensation of execution.compensations.toSorted(lastFirst)) {
    const error = await compensateStep(execution, frame, compensation);
    if (error) errors.push(error);
  }
  return errors;
}

async function compensateStep(
  execution: ExecutionParts,
  root: Frame,
  { path, step, use, scope }: Compensation,
): Promise<RunError | undefined> {
  const { durable } = execution;
  const frame = frameBelow(root, { segment: `${path}/~compensate`, place: 0, scope });
  const stepId = step.id;
  durable.log(frame.path, { stepId, type: 'start', message: `Compensation of the step ${path} started.` });
  try {
    const input = toInput(await evaluate(execution, scope, use.input), frame.path);
    await withRetry(execution, frame, {
      retry: step.retry,
      isRetryable: isCallRetryable,
      run: (attempt) => callTool(execution, frame, { tool: use.tool, input, attempt, onInDoubt: 'ask' }),
    });
    durable.log(frame.path, { stepId, type: 'complete', message: `Compensation of the step ${path} completed.` });
    return undefined;
  } catch (thrown) {
    const { error } = toStepFailure(thrown, frame.path);
    const message = `Compensation of the step ${path} failed: ${error.message}`;
    durable.log(frame.path, { stepId, type: 'error', message });
    return { ...error, path: frame.path };
  }
}

function lastFirst(a: Compensation, b: Compensation): number {
  const length = Math.max(a.position.length, b.position.length);
  for (let at = 0; at < length; at++) {
    const difference = (b.position[at] ?? -1) - (a.position[at] ?? -1);
    if (difference !== 0) return difference;
  }
  return 0;
}
