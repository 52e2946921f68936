import type { LoopStep, StepBase } from '../definition/canonical.ts';
import { evaluate, holds } from './frame/evaluate.ts';
import { advanceTo, type ExecutionParts, type Frame, frameBelow, pathBelow } from './frame/frame.ts';
import { cancelledAt, StepFailure } from './frame/step-failure.ts';
import {
  type LazyValue,
  lazy,
  openScope,
  type StepDone,
  type StepScope,
  type StepState,
  withVariables,
} from './frame/step-scope.ts';
import { loadAll } from './load-results.ts';

/** Runs the body until its condition says so. */
export async function runLoop(execution: ExecutionParts, frame: Frame, step: StepBase & LoopStep): Promise<StepDone> {
  const { test, shape, carry } = step;
  const results: LazyValue[] = [];
  let result: LazyValue = lazy(null);
  let carried = result;
  let inner: StepScope | undefined;
  let isOver = false;
  let index = 0;
  for (; !isOver; index++) {
    const scope = iterationScope(execution, frame, { step, index, carried, results, before: inner });
    if (!(await mayIterate(execution, frame, { step, scope, index }))) break;
    const last = await runIteration(execution, frameBelow(frame, { segment: `[${index}]`, place: index, scope }), step);
    advanceTo(frame, last.at);
    inner = scope;
    result = last.result;
    if (shape === 'list') results.push(result);
    carried = carry ? lazy(await evaluate(execution, scope, carry)) : result;
    isOver = 'until' in test && (await holds(execution, scope, test.until));
  }
  return {
    result: shape === 'list' ? async () => loadAll(frame.path, results) : result,
    fields: { iterations: index },
    ...(inner && { inner }),
  };
}

interface NextIteration {
  readonly step: LoopStep;
  readonly scope: StepScope;
  readonly index: number;
}

/** Returns true if there is another iteration. Throws LOOP_EXCEEDED at the maximum. */
async function mayIterate(execution: ExecutionParts, { path }: Frame, next: NextIteration): Promise<boolean> {
  const { test, maxIterations, atMax } = next.step;
  const isAtMax = next.index >= maxIterations;
  if (isAtMax && atMax === 'end') return false;
  if ('while' in test && !(await holds(execution, next.scope, test.while))) return false;
  if (isAtMax) throw exceeded(path, maxIterations);
  return true;
}

async function runIteration(execution: ExecutionParts, frame: Frame, { steps, delayMs = 0 }: LoopStep) {
  const { path, signal } = frame;
  if (delayMs > 0 && !path.endsWith('[0]')) {
    const end = await execution.durable.sleep(pathBelow(path, '~delay'), { forMs: delayMs, signal });
    if (end === 'aborted') throw cancelledAt(path);
    advanceTo(frame, frame.time.at + delayMs);
  }
  const last = await execution.runSteps(steps, frame);
  return { result: last?.result ?? lazy(null), at: frame.time.at };
}

interface Iteration {
  readonly step: LoopStep;
  readonly index: number;
  readonly carried: LazyValue;
  readonly results: readonly LazyValue[];
  readonly before: StepScope | undefined;
}

/** Opens the scope of an iteration. It has the steps of the one before until its own replace them. */
function iterationScope(execution: ExecutionParts, { scope, path }: Frame, iteration: Iteration): StepScope {
  const { index, step, before } = iteration;
  const results = iteration.results.slice();
  const opened = openScope(
    scope,
    execution.form === 'classic'
      ? classicValues(scope, index, () => loadAll(path, results))
      : {
          loop: async () => ({
            index,
            first: index === 0,
            last: index === step.maxIterations - 1,
            prev: await iteration.carried(),
          }),
        },
  );
  for (const [id, state] of before?.steps() ?? new Map<string, StepState>()) opened.addStep(id, state);
  return opened;
}

function classicValues(scope: StepScope, iteration: number, loopResults: LazyValue) {
  const fields = async () => ({ iteration, loopResults: await loopResults() });
  return { iteration, loopResults, var: withVariables(scope, fields) };
}

const exceeded = (path: string, maxIterations: number): StepFailure =>
  new StepFailure({
    code: 'LOOP_EXCEEDED',
    message: `The loop ${path} has not ended after ${maxIterations} iterations.`,
    fix: 'Raise `maxIterations`, correct the condition, or handle the error with `onError`.',
    path,
  });
