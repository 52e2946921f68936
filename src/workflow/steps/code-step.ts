import type { Json, JsonObject } from '../../core/call.ts';
import type { RunError } from '../../core/records/run.ts';
import type { CodeStep, StepBase } from '../definition/canonical.ts';
import { RunInterrupted } from '../run/durable.ts';
import { callTool } from './call-tool.ts';
import { abortBelow } from './frame/abort-below.ts';
import { evaluate } from './frame/evaluate.ts';
import { advanceTo, type ExecutionParts, type Frame, frameBelow, pathBelow } from './frame/frame.ts';
import { cancelledAt, StepFailure, toStepFailure } from './frame/step-failure.ts';
import { lazy, type StepDone } from './frame/step-scope.ts';

/** The recorded end of code. Both ends are recorded, so that a later abort does not change them. */
type CodeEnd = { readonly value: Json } | { readonly error: RunError };

/** Runs the code of a step in the sandbox. Its calls are journaled; its end is recorded once. */
export async function runCodeStep(
  execution: ExecutionParts,
  frame: Frame,
  step: StepBase & CodeStep,
): Promise<StepDone> {
  const { durable } = execution;
  const path = pathBelow(frame.path, '~result');
  const end = (durable.recorded(path) as CodeEnd | undefined) ?? (await runOnce(execution, frame, step));
  const recorded = await durable.record(path, () => end as JsonObject);
  if (recorded.error !== undefined) throw new StepFailure(recorded.error as unknown as RunError);
  return { result: lazy(recorded.value ?? null) };
}

async function runOnce(execution: ExecutionParts, frame: Frame, step: StepBase & CodeStep): Promise<CodeEnd> {
  const input = step.input ? await evaluate(execution, frame.scope, step.input) : execution.input;
  if (frame.signal.aborted) throw cancelledAt(frame.path);
  const seed = await execution.durable.random(pathBelow(frame.path, '~seed'));
  try {
    return { value: await runInSandbox(execution, frame, { step, input, seed }) };
  } catch (thrown) {
    const failure = toStepFailure(thrown, frame.path);
    if (failure.isCancelled) throw failure;
    if (frame.signal.aborted) throw cancelledAt(frame.path);
    return { error: { ...failure.error, path: frame.path } };
  }
}

interface SandboxTask {
  readonly step: CodeStep;
  readonly input: Json;
  readonly seed: number;
}

async function runInSandbox(
  execution: ExecutionParts,
  frame: Frame,
  { step, input, seed }: SandboxTask,
): Promise<Json> {
  const { source, tools, limits } = step;
  const aborter = abortBelow(frame.signal);
  const hold = holder(execution);
  let stopped: unknown;
  // Results are delivered in the order of the calls, so that the code goes on in the same way in each execution.
  let delivered: Promise<unknown> = Promise.resolve();

  async function call(index: number, tool: string, args: JsonObject): Promise<Json> {
    const below = frameBelow(frame, { segment: `[${index}]`, place: index, signal: aborter.signal });
    try {
      const done = await callTool(execution, below, { tool, input: args, attempt: 1, onInDoubt: 'ask' });
      advanceTo(frame, below.time.at);
      return await done.result();
    } catch (thrown) {
      if (!isEnd(thrown)) throw thrown;
      stopped ??= thrown;
      aborter.abort();
      throw thrown;
    }
  }

  try {
    hold.begin();
    return await execution.runCode(
      { source, input, tools, limits, seed: Math.floor(seed * 2 ** 32), now: frame.time.at },
      {
        call(index, tool, args) {
          const before = delivered;
          const result = call(index, tool, args);
          delivered = Promise.allSettled([before, result]);
          return before.then(() => result);
        },
        onIdle: (isIdle) => (isIdle ? hold.end() : hold.begin()),
        signal: aborter.signal,
      },
    );
  } catch (thrown) {
    throw stopped ?? thrown;
  } finally {
    hold.end();
    aborter.release();
  }
}

/** Returns true for a thrown value that ends the step: an interrupted run, or a cancelled call. */
const isEnd = (thrown: unknown): boolean =>
  thrown instanceof RunInterrupted || (thrown instanceof StepFailure && thrown.isCancelled);

/** Keeps the run from being suspended while code runs, not while it waits for its calls. */
function holder({ durable }: ExecutionParts) {
  let release: (() => void) | undefined;
  return {
    begin() {
      release ??= durable.hold();
    },
    end() {
      release?.();
      release = undefined;
    },
  };
}
