import { nameFor } from '../../core/call/name-for.ts';
import type { InputResponses, JsonObject, ResolvedCall, Result, TaskContinuation } from '../../core/call.ts';
import { UpstreamError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import { INTERNAL_ERROR } from '../../wire/mcp.ts';
import type { RequestOptions } from '../../wire/request-options.ts';
import { completeResult, errorResult, hasKeys, requestOptionsOf } from '../call-request.ts';
import {
  failureIn,
  readInputRequests,
  rootResponses,
  toInputRequired,
  withoutAnswered,
} from '../elicitation/modern-input.ts';
import type { ServerRequests } from '../elicitation/server-requests.ts';
import { taskSampling } from '../elicitation/task-sampling.ts';
import { cutRefusal } from '../failure.ts';

export interface TaskPollerOptions {
  readonly server: string;
  readonly serverRequests: ServerRequests;
  /** Sends a request that declares the capabilities of the call's client. */
  readonly request: (
    method: string,
    params: JsonObject,
    call: ResolvedCall,
    options: RequestOptions,
  ) => Promise<JsonObject>;
}

/** Tasks of a 2026-07-28 server: it answers a call with a task id and is polled for the result. */
export interface TaskPoller {
  /** Turns a result with `resultType: 'task'` into a continuation. */
  begin(value: JsonObject): Result;
  /** Polls a task once, sends it the user's input responses, or cancels it. */
  resume(call: ResolvedCall, task: TaskContinuation): Promise<Result>;
}

type Status = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled';

const STATUSES: readonly unknown[] = ['working', 'input_required', 'completed', 'failed', 'cancelled'];
const MAX_ID_CHARS = 1024;
const MAX_MESSAGE_CHARS = 4096;
// Bounds for the poll interval that the server asks for.
const POLL_MS = { usual: 1000, least: 100, most: 30_000 };

export function taskPoller({ server, serverRequests, request }: TaskPollerOptions): TaskPoller {
  const sampling = taskSampling(serverRequests.admit);

  const send = (method: string, params: JsonObject, call: ResolvedCall) =>
    request(method, params, call, { ...requestOptionsOf(call), onProgress: undefined, repeatable: true });

  function cancel(call: ResolvedCall, task: TaskContinuation): Promise<JsonObject> {
    sampling.forget(call, task);
    return send('tasks/cancel', { taskId: task.taskId }, call);
  }

  const update = (call: ResolvedCall, { taskId }: TaskContinuation, inputResponses: InputResponses) =>
    send('tasks/update', { taskId, inputResponses: inputResponses as JsonObject }, call);

  /** Answers `roots/list` with the configured roots; the other input requests are for the user. */
  async function requireInput(call: ResolvedCall, continuation: TaskContinuation, value: JsonObject): Promise<Result> {
    const { inputRequests } = readInputRequests(server, { inputRequests: value.inputRequests });
    const roots = rootResponses(inputRequests, call, serverRequests);
    if (hasKeys(roots)) await update(call, continuation, roots);
    const { open, admit } = sampling.polled(call, continuation, withoutAnswered(inputRequests, roots));
    const task = toTask(value);
    if (!hasKeys(open)) return { kind: 'working', task: { ...task, status: 'working' }, continuation };
    const result = toInputRequired({ server, serverRequests: { admit }, call }, open, continuation);
    // An input request was not admitted, so the call ended with an error: the task is not needed any more.
    if (result.kind === 'complete') await cancel(call, continuation).catch(() => {});
    return { ...result, task };
  }

  async function poll(call: ResolvedCall, { taskId }: TaskContinuation): Promise<Result> {
    const startedAt = performance.now();
    const value = await send('tasks/get', { taskId }, call);
    const status = statusOf(server, value);
    const continuation = toTaskContinuation(server, taskId, value);
    const task = toTask(value);
    if (status !== 'input_required') sampling.forget(call, continuation);
    if (status === 'working') return { kind: 'working', task, continuation };
    if (status === 'input_required') return requireInput(call, continuation, value);
    if (status === 'completed')
      return { ...completeResult(server, resultOf(server, value), startedAt), task } as Result;
    throw endedWithoutResult(server, call, { ...value, status });
  }

  return {
    begin(value) {
      const { taskId } = value;
      statusOf(server, value);
      const isId = typeof taskId === 'string' && taskId !== '' && taskId.length <= MAX_ID_CHARS;
      if (!isId) throw invalidTask(server, `an id that is no text of at most ${MAX_ID_CHARS} characters`);
      return { kind: 'working', task: toTask(value), continuation: toTaskContinuation(server, taskId, value) };
    },
    async resume(call, task) {
      const failed = failureIn(call.inputResponses);
      if (task.cancels || failed !== undefined) {
        const cancelled = await cancel(call, task);
        if (failed !== undefined) return errorResult(call, server, `The user could not be asked: ${failed}`);
        return completeResult(server, cancelled, performance.now());
      }
      if (call.inputResponses === undefined) return poll(call, task);
      await update(call, task, call.inputResponses);
      sampling.answered(call, task, call.inputResponses);
      return { kind: 'working', task: { status: 'working' }, continuation: task };
    },
  };
}

function statusOf(server: string, { status }: JsonObject): Status {
  if (!STATUSES.includes(status)) throw invalidTask(server, `the status ${JSON.stringify(status)?.slice(0, 40)}`);
  return status as Status;
}

function resultOf(server: string, { result }: JsonObject): JsonObject {
  if (!isObject(result)) throw invalidTask(server, 'no result');
  return result;
}

function toTaskContinuation(server: string, taskId: string, { pollIntervalMs }: JsonObject): TaskContinuation {
  const wanted = isCount(pollIntervalMs) ? pollIntervalMs : POLL_MS.usual;
  return { kind: 'task', server, taskId, pollMs: Math.min(Math.max(wanted, POLL_MS.least), POLL_MS.most) };
}

/** Returns the public fields of a task. Drops fields that the result carries elsewhere, and repairs invalid ones. */
function toTask(value: JsonObject): JsonObject {
  const { taskId: _, resultType, result, error, inputRequests, requestState, task, ttl, pollInterval, ...rest } = value;
  const { statusMessage, createdAt, lastUpdatedAt, ttlMs, pollIntervalMs, ...others } = rest;
  const now = new Date().toISOString();
  return {
    ...others,
    ...(typeof statusMessage === 'string' && { statusMessage: statusMessage.slice(0, MAX_MESSAGE_CHARS) }),
    createdAt: typeof createdAt === 'string' ? createdAt : now,
    lastUpdatedAt: typeof lastUpdatedAt === 'string' ? lastUpdatedAt : now,
    ttlMs: isCount(ttlMs) ? ttlMs : null,
    ...(isCount(pollIntervalMs) && { pollIntervalMs }),
  };
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) > 0;

/** The error of a failed or cancelled task: the server's own message, and the task. */
function endedWithoutResult(server: string, call: ResolvedCall, value: JsonObject): UpstreamError {
  const { status, error, statusMessage } = value;
  const rpc = isObject(error) ? error : { code: INTERNAL_ERROR, message: 'The task failed.' };
  const reason = typeof statusMessage === 'string' ? ` Its message: ${statusMessage.slice(0, MAX_MESSAGE_CHARS)}` : '';
  const message =
    status === 'failed'
      ? cutRefusal(String(rpc.message || `${server} could not do ${nameFor(call)}.`))
      : `${server} stopped doing ${nameFor(call)} before it was done.${reason}`;
  return new UpstreamError('UPSTREAM_REFUSED', message, {
    delivered: 'maybe',
    details: { server, task: toTask(value), ...(status === 'failed' && { rpc }) },
  });
}

const invalidTask = (server: string, what: string) =>
  new UpstreamError('UPSTREAM_FAILED', `${server} began a task, but sent ${what}.`, {
    delivered: 'maybe',
    details: { answered: true },
  });
