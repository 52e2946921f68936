import type { Json, JsonObject } from '../../core/call.ts';
import { isObject, parseJson } from '../../core/json.ts';
import type { RunError } from '../../core/records/run.ts';

/** The outcome of a step, before it becomes the value of `$step`. */
export interface StepOutcome {
  /** `ok`, or `skipped`: its condition was false, or it failed with `onError: skip`. */
  readonly status: 'ok' | 'skipped';
  readonly result: Json;
  readonly error?: RunError;
  readonly attempts: number;
  readonly startedAt: number;
  readonly endedAt: number;
  /** The fields of `output`. */
  readonly output?: JsonObject;
  /** The call, of a step that has called a tool. */
  readonly call?: CalledServer & { readonly raw: JsonObject };
}

interface CalledServer {
  readonly server: string;
  readonly latencyMs: number;
}

/** Returns the value of `$step` in the rich form. Fields of `output` never replace those of every step. */
export function richView({ output, call, error, ...rest }: StepOutcome): JsonObject {
  return {
    ...output,
    ...rest,
    ...(error && { error: { ...error } as JsonObject }),
    ...(call && { raw: call.raw }),
  };
}

/**
 * Returns the value of `$step` in the classic form: the fields of its structured content, those of `outputMapping`, those of
 * its result, and `result`.
 */
export function classicView(outcome: StepOutcome): JsonObject {
  if (outcome.status === 'skipped') return richView(outcome);
  const { result, output, call } = outcome;
  const content = call && toolResult(call.raw);
  return { ...(isObject(content) && content), ...output, ...(isObject(result) && result), result };
}

/** Returns the result of a tool step in the classic form. */
export const classicResult = (raw: JsonObject, { server, latencyMs }: CalledServer): JsonObject => ({
  content: raw.content ?? [],
  isError: raw.isError === true,
  ...(raw.structuredContent !== undefined && { structuredContent: raw.structuredContent }),
  serverId: server,
  latencyMs: Math.round(latencyMs),
});

/** The value of a step that has not begun. */
export const SKIPPED_VIEW: JsonObject = { status: 'skipped', result: null, attempts: 0, startedAt: 0, endedAt: 0 };

/** Returns true for the value of a step that was skipped. A tool may return an object with such a status, too. */
export const isSkippedView = (value: Json | undefined): value is JsonObject =>
  isObject(value) &&
  value.status === 'skipped' &&
  value.result === null &&
  typeof value.attempts === 'number' &&
  typeof value.startedAt === 'number';

/** The `_meta` key of the result of a workflow whose output is no object, and stands in `structuredContent.result`. */
export const WRAPPED_META = 'dev.heddle/wrapped';

/** The `_meta` key of the error of a run that failed, in its result. */
export const RUN_ERROR_META = 'dev.heddle/runError';

/** Returns the error of the workflow that a step has called. */
export function subWorkflowError(raw: Json): RunError | undefined {
  const error = isObject(raw) && isObject(raw._meta) ? raw._meta[RUN_ERROR_META] : undefined;
  return isObject(error) ? (error as unknown as RunError) : undefined;
}

/** Returns the output of the workflow that a `workflow` step has called. */
export function subWorkflowResult(raw: JsonObject): Json {
  const { _meta: meta, structuredContent } = raw;
  const isWrapped = isObject(meta) && meta[WRAPPED_META] === true && isObject(structuredContent);
  return isWrapped ? (structuredContent.result ?? null) : toolResult(raw);
}

/**
 * Returns the content of a tool result: `structuredContent`, else an object or list that its text holds as JSON, else
 * `{text, content}`. It is the result of a tool step in the rich form.
 */
export function toolResult(raw: JsonObject): Json {
  if (raw.structuredContent !== undefined) return raw.structuredContent;
  const content = Array.isArray(raw.content) ? (raw.content as readonly Json[]) : [];
  const text = content.flatMap((block) => (isObject(block) && block.type === 'text' ? [block.text] : [])).join('\n');
  return parsedText(text) ?? { text, content };
}

function parsedText(text: string): Json | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    return parseJson(text, { keys: 'any', numbers: 'exact' });
  } catch {
    return undefined;
  }
}
