import { isRepeatable } from '../core/call/repeatable.ts';
import type { CompleteResult } from '../core/call/run-to-completion.ts';
import type { CallKind, JsonObject, ResolvedCall, Target } from '../core/call.ts';
import { UpstreamError } from '../core/errors.ts';
import type { RequestOptions } from '../wire/request-options.ts';

export const LOG_MESSAGE = 'notifications/message';
const CALL_MS = 30_000;
const LONGEST_CALL_MS = 600_000;

interface CallRequest {
  readonly method: string;
  readonly params: JsonObject;
}

/** Returns the MCP request of a call. */
export function requestOf(call: ResolvedCall): CallRequest {
  const { method, params: own } = REQUESTS[call.kind](call);
  const params = call.extraParams ? { ...call.extraParams, ...own } : own;
  return hasKeys(call.meta) ? { method, params: { ...params, _meta: call.meta } } : { method, params };
}

const REQUESTS: Readonly<Record<CallKind, (call: ResolvedCall) => CallRequest>> = {
  tool: ({ target, input }) => ({ method: 'tools/call', params: { name: target.name, arguments: input } }),
  resource: ({ target }) => ({ method: 'resources/read', params: { uri: target.name } }),
  prompt: ({ target, input }) => ({
    method: 'prompts/get',
    params: { name: target.name, ...(hasKeys(input) && { arguments: input }) },
  }),
  completion: ({ target, input }) => ({
    method: 'completion/complete',
    params: { ...input, ref: { ...(input.ref as JsonObject), [namedBy(target)]: target.name } },
  }),
  extension: ({ target, input }) => ({ method: target.name, params: input }),
  // Never sent by a call: subscriptions are counted over all connections of a server, see `follow-updates`.
  subscription: ({ target }) => ({ method: 'resources/subscribe', params: { uri: target.name } }),
};

const namedBy = ({ kind }: Target) => (kind === 'prompt' ? 'name' : 'uri');

/** Returns deadline, signal and progress handler of one request of a call. */
export const requestOptionsOf = (call: ResolvedCall): RequestOptions => ({
  deadlineMs: call.options.timeoutMs ?? CALL_MS,
  longestMs: LONGEST_CALL_MS,
  signal: call.signal,
  onProgress: call.onProgress,
  onNotification: call.log && ((method, params) => method === LOG_MESSAGE && call.log?.onMessage(params)),
  repeatable: isRepeatable(call),
});

/** Wraps the result of a server, unchanged. `startedAt` is when this request was sent. */
export function completeResult(server: string, value: JsonObject, startedAt: number): CompleteResult {
  if (value.resultType === 'input_required') throw unexpectedInputRequest(server);
  if (value.resultType === 'task') throw unexpectedTask(server);
  const latencyMs = performance.now() - startedAt;
  return { kind: 'complete', value, isError: value.isError === true, provenance: { server, attempts: 1, latencyMs } };
}

/** Returns a tool result with `isError` and a text of Heddle. For other kinds of calls throws UPSTREAM_FAILED. */
export function errorResult({ kind }: ResolvedCall, server: string, text: string): CompleteResult {
  if (kind !== 'tool') throw new UpstreamError('UPSTREAM_FAILED', text, { delivered: 'maybe' });
  return completeResult(server, { content: [{ type: 'text', text }], isError: true }, performance.now());
}

/** The error for an input request that the client's capabilities do not allow. */
export const unexpectedInputRequest = (server: string) =>
  new UpstreamError('UPSTREAM_FAILED', `${server} sent an input request that the client capabilities do not allow.`, {
    delivered: 'maybe',
    details: { answered: true },
  });

const unexpectedTask = (server: string) =>
  new UpstreamError('UPSTREAM_FAILED', `${server} began a task, which the caller does not accept.`, {
    delivered: 'maybe',
  });

export function hasKeys(object: object): boolean {
  for (const _ in object) return true;
  return false;
}
