import type { Json } from '../../core/call.ts';
import type { LoopStep, StepBase } from '../definition/canonical.ts';
import { evaluate, holds } from './evaluate.ts';
import { advanceTo, type Execution, type Frame, frameBelow, pathBelow } from './frame.ts';
import { cancelledAt, StepFailure } from './step-failure.ts';
import { type LazyValue, lazy, openScope, type StepDone, type StepScope, type StepState } from './step-scope.ts';

/** Runs the body until its condition says so. */
export async function runLoop(execution: Execution, frame: Frame, step: StepBase & LoopStep): Promise<StepDone> {
  const { test, maxIterations } = step;
  const results: LazyValue[] = [];
  let result: LazyValue = lazy(null);
  let carried = result;
  let inner: StepScope | undefined;
  let index = 0;
  for (; ; index++) {
    const scope = iterationScope(execution, frame, { step, index, carried, results, before: inner });
    if ('while' in test && !(await holds(execution, scope, test.while))) break;
    if (index >= maxIterations) {
      if (step.atMax === 'end') break;
      throw exceeded(frame.path, maxIterations);
    }
    const iteration = frameBelow(frame, { segment: `[${index}]`, place: index, scope });
    if (index > 0) await delay(execution, iteration, step.delayMs);
    const last = await execution.runSteps(step.steps, iteration);
    advanceTo(frame, iteration.time.at);
    inner = scope;
    result = last?.result ?? lazy(null);
    if (step.shape === 'list') results.push(result);
    carried = step.carry ? lazy(await evaluate(execution, scope, step.carry)) : result;
    if (!('until' in test) || !(await holds(execution, scope, test.until))) continue;
    index++;
    break;
  }
  return {
    result: step.shape === 'list' ? () => loadAll(results) : result,
    fields: { iterations: index },
    ...(inner && { inner }),
  };
}

interface Iteration {
  readonly step: LoopStep;
  readonly index: number;
  readonly carried: LazyValue;
  readonly results: readonly LazyValue[];
  readonly before: StepScope | undefined;
}

/** Opens the scope of an iteration. It has the steps of the one before until its own replace them. */
function iterationScope(execution: Execution, { scope }: Frame, iteration: Iteration): StepScope {
  const { index, step, before } = iteration;
  const results = iteration.results.slice();
  const opened = openScope(scope, execution.form === 'classic' ? classicValues(scope, index, results) : {
    loop: async () => ({
      index,
      first: index === 0,
      last: index === step.maxIterations - 1,
      prev: await iteration.carried(),
    }),
  });
  for (const [id, state] of before?.steps() ?? new Map<string, StepState>()) opened.addStep(id, state);
  return opened;
}

function classicValues(scope: StepScope, iteration: number, results: readonly LazyValue[]) {
  const loopResults = () => loadAll(results);
  const outer = scope.find('var');
  return {
    iteration,
    loopResults,
    var: async () => ({
      ...(outer && 'value' in outer ? ((await outer.value()) as object) : {}),
      iteration,
      loopResults: await loopResults(),
    }),
  };
}

async function loadAll(values: readonly LazyValue[]): Promise<Json> {
  return Promise.all(values.map((value) => value()));
}

async function delay({ durable }: Execution, { path, signal, ...frame }: Frame, forMs = 0): Promise<void> {
  if (forMs === 0) return;
  if ((await durable.sleep(pathBelow(path, '~delay'), { forMs, signal })) === 'aborted') throw cancelledAt(path);
  frame.time.at += forMs;
}

const exceeded = (path: string, maxIterations: number): StepFailure =>
  new StepFailure({
    code: 'LOOP_EXCEEDED',
    message: `The loop ${path} has not ended after ${maxIterations} iterations.`,
    fix: 'Raise `maxIterations`, correct the condition, or handle the error with `onError`.',
    path,
  });
