import { nameFor } from '../../core/call/name-for.ts';
import type { InputResponses, JsonObject, ResolvedCall, Result, TaskContinuation } from '../../core/call.ts';
import { UpstreamError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import { INTERNAL_ERROR } from '../../wire/mcp.ts';
import type { RequestOptions } from '../../wire/request-options.ts';
import { answered, answeredByUs, hasKeys, requestOptionsOf } from '../call-request.ts';
import {
  failureIn,
  readInputRequests,
  rootResponses,
  toInputRequired,
  without,
} from '../elicitation/input-requests.ts';
import type { ServerRequests } from '../elicitation/server-requests.ts';
import { taskSampling } from '../elicitation/task-sampling.ts';

export interface TaskPollerOptions {
  readonly server: string;
  readonly questions: ServerRequests;
  /** Asks the server for something, and says what the call's user can be asked. */
  readonly request: (
    method: string,
    params: JsonObject,
    call: ResolvedCall,
    ask: RequestOptions,
  ) => Promise<JsonObject>;
}

/** What a server does by itself, after it has answered a call with no more than the promise to. */
export interface TaskPoller {
  /** Of the answer that says so. */
  begun(value: JsonObject): Result;
  /** One round: asks how far it is, hands it the user's answers, or tells it to stop. */
  follow(call: ResolvedCall, from: TaskContinuation): Promise<Result>;
}

type Status = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled';

const STATUSES: readonly unknown[] = ['working', 'input_required', 'completed', 'failed', 'cancelled'];
const MAX_ID_CHARS = 1024;
const MAX_MESSAGE_CHARS = 4096;
// A server that wants to be asked all the time, or next year, is asked within reason.
const POLL_MS = { usual: 1000, least: 100, most: 30_000 };

export function taskPoller({ server, questions, request }: TaskPollerOptions): TaskPoller {
  const sampling = taskSampling(questions.admit);

  const tell = (method: string, params: JsonObject, call: ResolvedCall) =>
    request(method, params, call, { ...requestOptionsOf(call), onProgress: undefined, repeatable: true });

  function cancel(call: ResolvedCall, task: TaskContinuation): Promise<JsonObject> {
    sampling.forget(call, task);
    return tell('tasks/cancel', { taskId: task.taskId }, call);
  }

  /** The configured roots are ours to tell; the rest is for the user. */
  async function ask(call: ResolvedCall, next: TaskContinuation, value: JsonObject): Promise<Result> {
    const { asked: all } = readInputRequests(server, { inputRequests: value.inputRequests });
    const ours = rootResponses(all, call, questions);
    if (hasKeys(ours)) await update(call, next, ours);
    const { open: rest, admit } = sampling.shown(call, next, without(all, ours));
    const task = toTask(value);
    if (!hasKeys(rest)) return { kind: 'working', task: { ...task, status: 'working' }, continuation: next };
    const result = toInputRequired({ server, questions: { admit }, call }, rest, next);
    // What we have answered in its stead is no longer wanted.
    if (result.kind === 'complete') await cancel(call, next).catch(() => {});
    return { ...result, task };
  }

  const update = (call: ResolvedCall, { taskId }: TaskContinuation, answers: InputResponses) =>
    tell('tasks/update', { taskId, inputResponses: answers as JsonObject }, call);

  async function look(call: ResolvedCall, { taskId }: TaskContinuation): Promise<Result> {
    const startedAt = performance.now();
    const value = await tell('tasks/get', { taskId }, call);
    const status = statusOf(server, value);
    const next = continuing(server, taskId, value);
    const task = toTask(value);
    if (status !== 'input_required') sampling.forget(call, next);
    if (status === 'working') return { kind: 'working', task, continuation: next };
    if (status === 'input_required') return ask(call, next, value);
    if (status === 'completed') return { ...answered(server, resultOf(server, value), startedAt), task } as Result;
    throw ended(server, call, { ...value, status });
  }

  return {
    begun(value) {
      const { taskId } = value;
      statusOf(server, value);
      const isId = typeof taskId === 'string' && taskId !== '' && taskId.length <= MAX_ID_CHARS;
      if (!isId) throw senseless(server, `an id that is no text of at most ${MAX_ID_CHARS} characters`);
      return { kind: 'working', task: toTask(value), continuation: continuing(server, taskId, value) };
    },
    async follow(call, from) {
      const failed = failureIn(call.inputResponses);
      if (from.cancels || failed !== undefined) {
        const said = await cancel(call, from);
        if (failed !== undefined) return answeredByUs(call, server, `The user could not be asked: ${failed}`);
        return answered(server, said, performance.now());
      }
      if (call.inputResponses === undefined) return look(call, from);
      await update(call, from, call.inputResponses);
      sampling.answered(call, from, call.inputResponses);
      return { kind: 'working', task: { status: 'working' }, continuation: from };
    },
  };
}

function statusOf(server: string, { status }: JsonObject): Status {
  if (!STATUSES.includes(status)) throw senseless(server, `the status ${JSON.stringify(status)?.slice(0, 40)}`);
  return status as Status;
}

function resultOf(server: string, { result }: JsonObject): JsonObject {
  if (!isObject(result)) throw senseless(server, 'no result');
  return result;
}

function continuing(server: string, taskId: string, { pollIntervalMs }: JsonObject): TaskContinuation {
  const wanted = isCount(pollIntervalMs) ? pollIntervalMs : POLL_MS.usual;
  return { kind: 'task', server, taskId, pollMs: Math.min(Math.max(wanted, POLL_MS.least), POLL_MS.most) };
}

/** What the server says of its task, without what is said elsewhere; what clients would choke on is put right. */
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

/** How a task that came to no result says so: the server's own words, and what it says of the task. */
function ended(server: string, call: ResolvedCall, value: JsonObject): UpstreamError {
  const { status, error, statusMessage } = value;
  const rpc = isObject(error) ? error : { code: INTERNAL_ERROR, message: 'The task failed.' };
  const why = typeof statusMessage === 'string' ? ` It says: ${statusMessage.slice(0, MAX_MESSAGE_CHARS)}` : '';
  const message =
    status === 'failed'
      ? String(rpc.message || `${server} could not do ${nameFor(call)}.`)
      : `${server} stopped doing ${nameFor(call)} before it was done.${why}`;
  return new UpstreamError('UPSTREAM_REFUSED', message, {
    delivered: 'maybe',
    details: { server, task: toTask(value), ...(status === 'failed' && { rpc }) },
  });
}

const senseless = (server: string, what: string) =>
  new UpstreamError('UPSTREAM_FAILED', `${server} says that it goes on by itself, but sent ${what}.`, {
    delivered: 'maybe',
    details: { answered: true },
  });
