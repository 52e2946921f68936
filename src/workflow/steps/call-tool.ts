import type { Json, JsonObject } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import { cutAndEscapeBreaks } from '../../core/text/cut-text.ts';
import { classicResult, subWorkflowError, toolResult } from '../expressions/step-view.ts';
import { WORKFLOW_SERVER } from '../journal/step-end.ts';
import type { StepCall } from '../run/durable.ts';
import { advanceTo, type ExecutionParts, type Frame } from './frame/frame.ts';
import { CANCELLED, failedCall, StepFailure } from './frame/step-failure.ts';
import type { LazyValue, StepDone } from './frame/step-scope.ts';

const MAX_ERROR_CHARS = 500;

/** The end of a call that succeeded. */
type CallDone = StepDone & { readonly raw: LazyValue };

/** An attempt of a call. */
export type ToolAttempt = Omit<StepCall, 'signal'>;

/** Calls a tool at the path of the frame. An error result is a failure. */
export async function callTool(
  { durable, form }: ExecutionParts,
  frame: Frame,
  attempt: ToolAttempt,
): Promise<CallDone> {
  const { path, signal } = frame;
  const end = await durable.call(path, { ...attempt, signal });
  advanceTo(frame, end.endedAt);
  if (!end.ok) throw failedCall(path, end);
  const raw = () => durable.load(end.value);
  const { isError, server, latencyMs } = end;
  if (isError) throw errorResult(path, { tool: attempt.tool, server, raw: await raw() });
  const result = async () => {
    const whole = (await raw()) as JsonObject;
    return form === 'classic' ? classicResult(whole, end) : toolResult(whole);
  };
  return { raw, result: 'inline' in end.value ? once(result) : result, call: { isError, server, latencyMs } };
}

/** Computes a small value once. */
function once(load: LazyValue): LazyValue {
  let value: Promise<Json> | undefined;
  return () => {
    value ??= load();
    return value;
  };
}

interface ErrorResult {
  readonly tool: string;
  readonly server: string;
  readonly raw: Json;
}

/** Returns the failure of a call with an error result. That of a workflow keeps the code of its run. */
function errorResult(path: string, { tool, server, raw }: ErrorResult): StepFailure {
  const ofRun = server === WORKFLOW_SERVER ? subWorkflowError(raw) : undefined;
  if (ofRun && ofRun.code !== CANCELLED) {
    const { mayHaveActed = false, ...error } = ofRun;
    const message = `The run of ${tool} failed: ${error.message}`;
    return new StepFailure({ ...error, message, path }, { mayHaveActed, isErrorResult: true });
  }
  const text = firstText(raw);
  const reason = text === undefined ? '' : `: ${cutAndEscapeBreaks(text, MAX_ERROR_CHARS)}`;
  const message = `The tool ${tool} reports an error${reason}`;
  const fix = 'Correct the input of the step, or handle the error with `onError`.';
  return new StepFailure({ code: 'TOOL_ERROR', message, fix, path }, { isErrorResult: true });
}

function firstText(raw: Json): string | undefined {
  const content = isObject(raw) && Array.isArray(raw.content) ? (raw.content as readonly Json[]) : [];
  const found = content.find((block) => isObject(block) && typeof block.text === 'string');
  return isObject(found) ? String(found.text) : undefined;
}

/** Checks that the input of a call is an object. */
export function toInput(value: Json, path: string): JsonObject {
  if (isObject(value)) return value;
  throw new HeddleError('EXPRESSION_FAILED', `The input of the step ${path} is not an object.`, {
    fix: 'Write the input as names and values.',
  });
}
