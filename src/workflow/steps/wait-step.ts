import type { Json } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import type { StepBase, WaitStep } from '../definition/canonical.ts';
import { evaluate } from './frame/evaluate.ts';
import { advanceTo, type ExecutionParts, type Frame } from './frame/frame.ts';
import { cancelledAt } from './frame/step-failure.ts';
import { lazy, type StepDone } from './frame/step-scope.ts';

const RFC_3339 = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/;

/** Waits for a time. Has no value of its own. */
export async function runWait(execution: ExecutionParts, frame: Frame, step: StepBase & WaitStep): Promise<StepDone> {
  const { path, signal, time } = frame;
  const until = step.until && toTime(await evaluate(execution, frame.scope, step.until), path);
  const forMs = step.for ?? 0;
  const sleep = until === undefined ? { forMs, signal } : { until, signal };
  if ((await execution.durable.sleep(path, sleep)) === 'aborted') throw cancelledAt(path);
  advanceTo(frame, until ?? time.at + forMs);
  return { result: lazy(null) };
}

function toTime(value: Json, path: string): number {
  const time = typeof value === 'string' && RFC_3339.test(value) ? Date.parse(value) : value;
  if (typeof time === 'number' && Number.isFinite(time)) return time;
  throw new HeddleError('EXPRESSION_FAILED', `\`until\` of the step ${path} is not a time.`, {
    fix: 'Give a time such as 2026-01-31T09:00:00Z, or milliseconds since 1970.',
  });
}
