import type { CompleteResult } from '../../core/call/run-to-completion.ts';
import type { Json, JsonObject, Target } from '../../core/call.ts';
import { HeddleError, UpstreamError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import type { RunError } from '../../core/records/run.ts';
import type { StepCall, StepEnd, StoredValue } from '../run/durable.ts';

type Failed = Extract<StepEnd, { readonly ok: false }>;

/** The server under which workflows are tools. A repeated call finds the run that it began. */
export const WORKFLOW_SERVER = 'workflow';

/** Errors after which the same call may be sent again: it has reached no server. */
const NEVER_SENT: readonly string[] = ['RATE_LIMITED', 'UPSTREAM_UNREACHABLE'];
const MAY_HAVE_ACTED: readonly string[] = ['OUTCOME_UNKNOWN', 'CALL_CANCELLED', 'INTERNAL'];

/** Returns true if a call may be sent again: by the step, or by the facts of its tool. */
export function isRepeatableStep({ idempotency }: Pick<StepCall, 'idempotency'>, target: Target | undefined): boolean {
  if (idempotency !== undefined && idempotency !== 'none') return true;
  if (!target) return false;
  const { readOnly, idempotent, builtin } = target.facts;
  return readOnly || (idempotent && idempotency !== 'none') || (builtin && target.servers[0] === WORKFLOW_SERVER);
}

/** Converts a result. */
export const completeEnd = ({ isError, provenance }: CompleteResult, value: StoredValue, endedAt: number): StepEnd => ({
  ok: true,
  value,
  isError,
  server: provenance.server,
  latencyMs: provenance.latencyMs,
  endedAt,
});

export interface FailureFacts {
  readonly isRepeatable: boolean;
  readonly isReadOnly: boolean;
  readonly endedAt: number;
}

/** Converts a failure. */
export function failedEnd(thrown: unknown, { isRepeatable, isReadOnly, endedAt }: FailureFacts): Failed {
  const error = HeddleError.from(thrown);
  const wasDelivered =
    error instanceof UpstreamError ? error.delivered === 'maybe' : MAY_HAVE_ACTED.includes(error.code);
  const { retryAfterMs } = error.details;
  return {
    ok: false,
    error: toRunError(error),
    mayHaveActed: wasDelivered && !isReadOnly && error.code !== 'UPSTREAM_REFUSED',
    isRetryable: isFailureOfServer(error) && (isRepeatable || !wasDelivered || NEVER_SENT.includes(error.code)),
    ...(typeof retryAfterMs === 'number' && { retryAfterMs }),
    endedAt,
  };
}

/** Returns false for errors that another attempt would meet again: a wrong input, a denied call. */
const isFailureOfServer = ({ code, fault }: HeddleError): boolean =>
  (fault === 'upstream' && code !== 'UPSTREAM_REFUSED' && code !== 'TOOL_INVALID') || NEVER_SENT.includes(code);

/** Returns the error of a step without its stack and cause. */
export function toRunError({ code, message, fix, details }: HeddleError): RunError {
  return { code, message, fix, ...(Object.keys(details).length > 0 && { details }) };
}

/** Returns the end of a call whose step was cancelled, or whose time is over. */
export function abortedEnd(
  {
    code,
    tool,
    timeoutMs,
  }: { readonly code: 'CANCELLED' | 'TIMEOUT'; readonly tool: string; readonly timeoutMs?: number | undefined },
  facts: FailureFacts & { readonly wasSent: boolean },
): Failed {
  const mayHaveActed = facts.wasSent && !facts.isReadOnly;
  const message =
    code === 'CANCELLED'
      ? `The call of ${tool} was cancelled.`
      : `The call of ${tool} did not end within ${timeoutMs} ms.`;
  return {
    ok: false,
    error: {
      code,
      message,
      ...(code === 'TIMEOUT' && { fix: 'Raise the `timeout` of the step, or find out why it takes longer.' }),
    },
    mayHaveActed,
    isRetryable: code === 'TIMEOUT' && (facts.isRepeatable || !facts.wasSent),
    endedAt: facts.endedAt,
  };
}

/** Converts the result that a person gives of a call that happened to a result of a tool. */
export function resolvedResult(result: Json | undefined): JsonObject {
  if (isObject(result) && Array.isArray(result.content)) return result;
  if (result === undefined || result === null) return { content: [] };
  const text = typeof result === 'string' ? result : JSON.stringify(result);
  return { content: [{ type: 'text', text }], ...(isObject(result) && { structuredContent: result }) };
}
