import type { Json, JsonObject } from '../../core/call.ts';
import type { RunCode } from '../../core/code.ts';
import { isObject } from '../../core/json.ts';
import type { RunError } from '../../core/records/run.ts';
import type { Workflow } from '../definition/canonical.ts';
import { inputDefaults } from '../definition/input-defaults.ts';
import { compensate } from '../steps/compensate.ts';
import { evaluate } from '../steps/frame/evaluate.ts';
import { type ExecutionParts, type Frame, MAX_BEGUN_STEPS } from '../steps/frame/frame.ts';
import { type StepFailure, toStepFailure } from '../steps/frame/step-failure.ts';
import { openScope } from '../steps/frame/step-scope.ts';
import { withTimeout } from '../steps/frame/with-timeout.ts';
import { runSteps } from '../steps/run-step.ts';
import type { Durable, RunStop } from './durable.ts';

/** The parts that the interpreter gets. It has no clock, no randomness and no I/O of its own. */
export interface InterpreterParts {
  readonly durable: Durable;
  readonly runCode: RunCode;
  /** The fields of `$run`. */
  readonly run?: JsonObject;
}

/** The end of a run that has succeeded. */
export interface RunOutput {
  readonly output: Json;
  readonly stepsExecuted: number;
}

/** The end of a run that has not succeeded. Its compensations have run. */
export class RunFailure extends Error {
  readonly status: 'failed' | 'cancelled' | 'compensation_failed';
  readonly error: RunError;
  readonly stepsExecuted: number;

  constructor(status: RunFailure['status'], error: RunError, stepsExecuted: number) {
    super(error.message);
    this.name = 'RunFailure';
    this.status = status;
    this.error = error;
    this.stepsExecuted = stepsExecuted;
  }
}

/**
 * Executes a workflow. Everything that happens is an operation of `durable`: executed again with the same recorded ends
 * it makes the same operations and has the same end. Throws RunFailure; RunInterrupted passes through.
 */
export async function interpret(workflow: Workflow, input: Json, parts: InterpreterParts): Promise<RunOutput> {
  const execution = openParts(workflow, input, parts);
  const frame = await openFrame(execution, workflow, parts);
  try {
    const output = await withTimeout(execution, frame, {
      path: '~wall',
      timeoutMs: workflow.wallMs,
      run: async (timed) => {
        const last = await runSteps(execution, timed, workflow.steps);
        if (workflow.output) return evaluate(execution, timed.scope, workflow.output);
        return (await last?.result()) ?? null;
      },
    });
    return { output, stepsExecuted: execution.executed };
  } catch (thrown) {
    throw await undo(execution, frame, toStepFailure(thrown, ''));
  }
}

function openParts({ form, input: schema }: Workflow, input: Json, parts: InterpreterParts): ExecutionParts {
  const execution: ExecutionParts = {
    durable: parts.durable,
    runCode: parts.runCode,
    form,
    input: { ...inputDefaults(schema), ...(isObject(input) ? input : {}) },
    compensations: [],
    begun: 0,
    executed: 0,
    runSteps: (steps, frame) => runSteps(execution, frame, steps),
  };
  return execution;
}

async function openFrame(
  { durable, input }: ExecutionParts,
  workflow: Workflow,
  { run }: InterpreterParts,
): Promise<Frame> {
  const startedAt = await durable.now('~start');
  const variables = { values: {} };
  const scope = openScope(undefined, {
    input,
    var: async () => ({ ...workflow.var, ...variables.values }),
    run: { ...run, workflow: workflow.name, startedAt },
  });
  return { path: '', position: [], scope, signal: durable.cancelled, time: { at: startedAt }, variables };
}

/** Runs the compensations of a run that stops. A cancellation does not abort them. */
async function undo(execution: ExecutionParts, frame: Frame, failure: StepFailure): Promise<RunFailure> {
  const stop = failure.isCancelled
    ? stopOf(execution, failure)
    : { status: 'failed' as const, error: errorOf(failure) };
  const errors = await compensate(execution, { ...frame, signal: new AbortController().signal });
  if (errors.length === 0) return new RunFailure(stop.status, stop.error, execution.executed);
  const details = { ...stop.error.details, compensations: errors.map((error): JsonObject => ({ ...error })) };
  return new RunFailure('compensation_failed', { ...stop.error, details }, execution.executed);
}

const errorOf = ({ error, mayHaveActed }: StepFailure): RunError =>
  mayHaveActed ? { ...error, mayHaveActed: true } : error;

/** Returns the reason of a cancellation. */
function stopOf({ durable, begun }: ExecutionParts, { error }: StepFailure): RunStop {
  if (begun > MAX_BEGUN_STEPS) return TOO_MANY_STEPS;
  const reason = durable.cancelled.reason as Partial<RunStop> | undefined;
  return { status: reason?.status ?? 'cancelled', error: reason?.error ?? error };
}

const TOO_MANY_STEPS: RunStop = {
  status: 'failed',
  error: {
    code: 'STEPS_EXCEEDED',
    message: `The run has begun ${MAX_BEGUN_STEPS} steps, the most that a run may begin.`,
    fix: 'Use fewer iterations or items, or split the workflow.',
  },
};
