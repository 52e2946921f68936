import type { JsonObject } from '../../core/call.ts';
import type { Step } from '../definition/canonical.ts';
import { evaluate, holds } from './frame/evaluate.ts';
import { type ExecutionParts, type Frame, MAX_BEGUN_STEPS, pathBelow } from './frame/frame.ts';
import { cancelledAt, type StepFailure, toStepFailure } from './frame/step-failure.ts';
import { lazy, openScope, type StepDone, type StepScope, type StepState } from './frame/step-scope.ts';
import { isBlockRetryable, isCallRetryable, withRetry } from './frame/with-retry.ts';
import { withTimeout } from './frame/with-timeout.ts';
import { runAttempt } from './run-attempt.ts';

/** Runs steps in order. Returns the last one that has a result. */
export async function runSteps(
  execution: ExecutionParts,
  frame: Frame,
  steps: readonly Step[],
): Promise<StepState | undefined> {
  let last: StepState | undefined;
  for (const [place, step] of steps.entries()) {
    const state = await runStep(execution, below(frame, step.id, place), step);
    frame.scope.addStep(step.id, state);
    if (state.status === 'ok') last = state;
  }
  return last;
}

/** Returns the frame of a step. It shares the scope and the time of its block. */
const below = (frame: Frame, id: string, place: number): Frame => ({
  ...frame,
  path: pathBelow(frame.path, id),
  position: [...frame.position, place],
});

/** Runs a step with all that steps have in common: `if`, timeouts, retries, `output`, `compensate` and `onError`. */
async function runStep(execution: ExecutionParts, frame: Frame, step: Step): Promise<StepState> {
  // `onError` must not catch it: each step after it would fail, too.
  if (++execution.begun > MAX_BEGUN_STEPS) throw cancelledAt(frame.path);
  const startedAt = frame.time.at;
  try {
    if (step.if && !(await holds(execution, frame.scope, step.if))) {
      log(execution, frame, { step, type: 'skip', message: 'skipped: its condition does not hold' });
      return skipped(startedAt);
    }
    log(execution, frame, { step, type: 'start', message: 'started' });
    return await succeed(execution, frame, { step, startedAt, ...(await runAttempts(execution, frame, step)) });
  } catch (thrown) {
    const failure = toStepFailure(thrown, frame.path);
    // A step that was cancelled from outside decides nothing.
    if (failure.isCancelled) throw failure;
    return recover(execution, frame, { step, failure, startedAt });
  }
}

async function runAttempts(execution: ExecutionParts, frame: Frame, step: Step) {
  const isCall = step.kind === 'tool' || step.kind === 'workflow';
  const { retry, totalTimeoutMs } = step;
  const { value: done, attempts } = await withTimeout(execution, frame, {
    path: pathBelow(frame.path, '~total'),
    timeoutMs: totalTimeoutMs,
    run: (timed) =>
      withRetry(execution, timed, {
        retry,
        isRetryable: isCall ? isCallRetryable : isBlockRetryable,
        run: (attempt) => runAttempt(execution, timed, { step, attempt }),
      }),
  });
  return { done, attempts };
}

interface Success {
  readonly step: Step;
  readonly done: StepDone;
  readonly attempts: number;
  readonly startedAt: number;
}

async function succeed(
  execution: ExecutionParts,
  frame: Frame,
  { step, done, attempts, startedAt }: Success,
): Promise<StepState> {
  if (done.isSkipped) {
    log(execution, frame, { step, type: 'skip', message: 'skipped: no condition holds' });
    return skipped(startedAt);
  }
  execution.executed++;
  const { at: endedAt } = frame.time;
  const began = done.call ? Math.max(startedAt, endedAt - done.call.latencyMs) : startedAt;
  const state: StepState = { ...done, status: 'ok', attempts, startedAt: began, endedAt };
  const scope = scopeInside(frame, step, state);
  const { compensate: use } = step;
  const { path, position } = frame;
  // Before `output`, which may fail: the step has committed.
  if (use) execution.compensations.push({ path, position, step, use, scope });
  const fields = await outputOf(execution, scope, step);
  if (execution.form === 'classic') publish(frame, state, fields);
  log(execution, frame, { step, type: 'complete', message: 'completed' });
  const { inner: _, ...kept } = state;
  return fields ? { ...kept, fields: { ...kept.fields, ...fields } } : kept;
}

/** Sets the variables of a classic step, and shows later steps those inside of it. */
function publish({ scope, variables }: Frame, { inner }: StepState, fields: JsonObject | undefined): void {
  variables.values = { ...variables.values, ...fields };
  for (const [id, state] of inner?.steps() ?? []) scope.addStep(id, state);
}

/** Opens the scope of `output` and `compensate`: the step itself by its id and as `$self`, and the steps inside. */
function scopeInside(frame: Frame, { id }: Step, state: StepState): StepScope {
  const scope = openScope(state.inner ?? frame.scope, {});
  scope.addStep(id, state);
  scope.addStep('self', state);
  return scope;
}

async function outputOf(
  execution: ExecutionParts,
  scope: StepScope,
  { output }: Step,
): Promise<JsonObject | undefined> {
  return output && ((await evaluate(execution, scope, { object: output })) as JsonObject);
}

interface Failed {
  readonly step: Step;
  readonly failure: StepFailure;
  readonly startedAt: number;
}

/** Applies `onError`. */
async function recover(
  execution: ExecutionParts,
  frame: Frame,
  { step, failure, startedAt }: Failed,
): Promise<StepState> {
  const { error, attempts } = failure;
  execution.executed++;
  log(execution, frame, { step, type: 'error', message: `failed: ${error.message}` });
  if (step.onError === 'stop') throw failure;
  const state: StepState = { ...skipped(startedAt), endedAt: frame.time.at, error, attempts };
  if (step.onError === 'skip') {
    log(execution, frame, { step, type: 'skip', message: `skipped: it failed: ${error.message}` });
    return state;
  }
  const { fallback } = step;
  if (!fallback) {
    const result = lazy({ fallback: true, error: error.message });
    return { ...state, status: 'ok', result, isDefaultFallback: true };
  }
  if ('mapping' in fallback) {
    const scope = scopeInside(frame, step, state);
    return { ...state, status: 'ok', result: lazy(await evaluate(execution, scope, fallback.mapping)) };
  }
  const replaced = await runStep(execution, { ...frame, path: pathBelow(frame.path, '~fallback') }, fallback);
  frame.scope.addStep(fallback.id, replaced);
  return { ...replaced, error, attempts, startedAt };
}

const skipped = (at: number): StepState => ({
  status: 'skipped',
  result: lazy(null),
  attempts: 0,
  startedAt: at,
  endedAt: at,
});

interface StepLog {
  readonly step: Step;
  readonly type: 'start' | 'complete' | 'error' | 'skip';
  readonly message: string;
}

function log({ durable }: ExecutionParts, { path }: Frame, { step, type, message }: StepLog): void {
  durable.log(path, { stepId: step.id, type, message: `Step ${path} ${message}.`.replace(/\.\.$/, '.') });
}
