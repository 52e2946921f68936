import { isRepeatable } from '../core/call/repeatable.ts';
import type { CallKind, JsonObject, ResolvedCall, Result, Target } from '../core/call.ts';
import { UpstreamError } from '../core/errors.ts';
import type { RequestOptions } from '../wire/request-options.ts';

export const LOG_MESSAGE = 'notifications/message';
const CALL_MS = 30_000;
const LONGEST_CALL_MS = 600_000;

interface CallRequest {
  readonly method: string;
  readonly params: JsonObject;
}

/** How a server is asked for what a call is of. */
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
  // Counted over all lines of a server, so none is asked by way of a call: see `follow-updates`.
  subscription: ({ target }) => ({ method: 'resources/subscribe', params: { uri: target.name } }),
};

const namedBy = ({ kind }: Target) => (kind === 'prompt' ? 'name' : 'uri');

/** Under which deadline, signal and progress listener one round of a call runs. */
export const requestOptionsOf = (call: ResolvedCall): RequestOptions => ({
  deadlineMs: call.options.timeoutMs ?? CALL_MS,
  longestMs: LONGEST_CALL_MS,
  signal: call.signal,
  onProgress: call.onProgress,
  onNotification: call.log && ((method, params) => method === LOG_MESSAGE && call.log?.onMessage(params)),
  repeatable: isRepeatable(call),
});

/** The answer of a server, verbatim. `startedAt` is of this round. */
export function answered(server: string, value: JsonObject, startedAt: number): Result {
  if (value.resultType === 'input_required') throw unexpectedInputRequest(server);
  if (value.resultType === 'task') throw tookItsTime(server);
  const latencyMs = performance.now() - startedAt;
  return { kind: 'complete', value, isError: value.isError === true, provenance: { server, attempts: 1, latencyMs } };
}

/** What is said in our words where the server has none: the model reads it as it reads the server's own. */
export function answeredByUs({ kind }: ResolvedCall, server: string, text: string): Result {
  if (kind !== 'tool') throw new UpstreamError('UPSTREAM_FAILED', text, { delivered: 'maybe' });
  return answered(server, { content: [{ type: 'text', text }], isError: true }, performance.now());
}

/** The protocol forbids a server to ask what nobody said could be asked. */
export const unexpectedInputRequest = (server: string) =>
  new UpstreamError('UPSTREAM_FAILED', `${server} asked the user a question, which it was not invited to do.`, {
    delivered: 'maybe',
    details: { answered: true },
  });

const tookItsTime = (server: string) =>
  new UpstreamError('UPSTREAM_FAILED', `${server} began a task, which nobody was going to wait for.`, {
    delivered: 'maybe',
  });

export function hasKeys(object: object): boolean {
  for (const _ in object) return true;
  return false;
}
