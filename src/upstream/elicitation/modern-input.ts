import { canHandle, NO_CAPABILITIES } from '../../core/call/client-capabilities.ts';
import type { InputRequests } from '../../core/call/run-to-completion.ts';
import type { Continuation, InputRequest, InputResponses, JsonObject, ResolvedCall, Result } from '../../core/call.ts';
import { UpstreamError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import { RpcError } from '../../wire/json-rpc.ts';
import { errorResult, unexpectedInputRequest } from '../call-request.ts';
import { MAX_INPUT_REQUESTS } from './pending-call.ts';
import { isInputRequest, type ServerRequests } from './server-requests.ts';

// Length as JSON. The gateway seals the state into a requestState of its own, which has a limit.
const MAX_STATE_BYTES = 32_768;

export interface ModernCallContext {
  readonly server: string;
  readonly serverRequests: Pick<ServerRequests, 'admit'>;
  readonly call: ResolvedCall;
}

/** Returns the input requests that the user may get. If one is not admitted, the call ends with an error result. */
export function toInputRequired(
  { server, serverRequests, call }: ModernCallContext,
  inputRequests: InputRequests,
  continuation: Continuation,
): Exclude<Result, { readonly kind: 'waiting' }> {
  const capabilities = call.capabilities ?? NO_CAPABILITIES;
  const user = { capabilities, principal: call.caller.id };
  if (!Object.values(inputRequests).every((one) => canHandle(capabilities, one))) throw unexpectedInputRequest(server);
  try {
    const admitted = Object.entries(inputRequests).map(
      ([key, one]) => [key, serverRequests.admit(server, one, user)] as const,
    );
    return { kind: 'input-required', inputRequests: Object.fromEntries(admitted), continuation };
  } catch (thrown) {
    // The modern era has no message that refuses an input request, so the call ends here.
    if (thrown instanceof RpcError) return errorResult(call, server, thrown.message);
    throw thrown;
  }
}

/** Reads `inputRequests` and `requestState` of a result. Throws UPSTREAM_FAILED if they are invalid or both missing. */
export function readInputRequests(server: string, { inputRequests = {}, requestState: state }: JsonObject) {
  if (state !== undefined && !isState(state)) {
    throw invalidInputRequest(server, `a requestState that is no text of at most ${MAX_STATE_BYTES} bytes`);
  }
  if (!isObject(inputRequests)) throw invalidInputRequest(server, 'inputRequests that are no object');
  const count = Object.keys(inputRequests).length;
  if (count > MAX_INPUT_REQUESTS)
    throw invalidInputRequest(server, `${count} input requests at once, and ${MAX_INPUT_REQUESTS} are the limit`);
  const entries = Object.entries(inputRequests).map(([key, one]): [string, InputRequest] => {
    if (!isObject(one) || !isInputRequest(one.method))
      throw invalidInputRequest(server, `an input request ${key} without a known method`);
    return [key, isObject(one.params) ? { method: one.method, params: one.params } : { method: one.method }];
  });
  if (entries.length === 0 && state === undefined)
    throw invalidInputRequest(server, 'neither an input request nor a requestState');
  return { inputRequests: Object.fromEntries(entries) as InputRequests, state };
}

/** Returns the input requests that have no response yet. */
export const withoutAnswered = (inputRequests: InputRequests, inputResponses: InputResponses): InputRequests =>
  Object.fromEntries(Object.entries(inputRequests).filter(([key]) => !Object.hasOwn(inputResponses, key)));

/** Answers `roots/list` with the configured roots, if the client has no roots of its own. */
export function rootResponses(
  inputRequests: InputRequests,
  { capabilities }: ResolvedCall,
  serverRequests: Pick<ServerRequests, 'roots'>,
): InputResponses {
  const roots = serverRequests.roots();
  if (capabilities?.roots || roots.length === 0) return {};
  const keys = Object.keys(inputRequests).filter((key) => inputRequests[key]?.method === 'roots/list');
  return Object.fromEntries(keys.map((key) => [key, { roots }]));
}

/** Returns why a client failed to answer an input request. The modern era has no message that tells it the server. */
export function failureIn(inputResponses: InputResponses = {}): string | undefined {
  for (const response of Object.values(inputResponses)) {
    const { failed } = (isObject(response) ? response : {}) as { failed?: { message: string } };
    if (failed) return failed.message;
  }
  return undefined;
}

export const invalidInputRequest = (server: string, what: string) =>
  new UpstreamError('UPSTREAM_FAILED', `${server} requires input, but sent ${what}.`, { delivered: 'maybe' });

const isState = (state: unknown): state is string =>
  typeof state === 'string' &&
  state.length <= MAX_STATE_BYTES &&
  Buffer.byteLength(JSON.stringify(state)) <= MAX_STATE_BYTES;
