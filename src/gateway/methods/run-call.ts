import { randomUUID } from 'node:crypto';
import { hasAnyCapability } from '../../core/call/client-capabilities.ts';
import { type AskUser, runToCompletion } from '../../core/call/run-to-completion.ts';
import type { Call, InputRequest, InputResponse, JsonObject, Result } from '../../core/call.ts';
import { UpstreamError } from '../../core/errors.ts';
import type { Heddle } from '../../heddle.ts';
import { RpcError } from '../../wire/json-rpc.ts';
import { increasing } from '../continuations/approval-waits.ts';
import type { Continuations } from '../continuations/continuations.ts';
import { GatewayTask } from '../continuations/gateway-task.ts';
import { modernContinuations } from '../continuations/modern-continuations.ts';
import type { RequestContext, SendClientRequest } from '../request-context.ts';
import { withoutReserved } from '../reserved-meta.ts';

/** Runs a call for a client and sends it the server's input requests in the form of its era. */
export type RunCall = (call: Call, context: RequestContext, params?: JsonObject) => Promise<JsonObject>;

export function callRunner(heddle: Heddle, continuations: Continuations): RunCall {
  const modern = modernContinuations(continuations, heddle.access);
  const { waits } = continuations;
  const { settled } = waits;
  const describe = ({ caller, name, signal }: Call) => heddle.catalog.describe(caller, name, signal);

  /** Runs a call to its end. Input requests go to the legacy client as requests while its own request is open. */
  function runWithInput(call: Call, sendRequest: SendClientRequest) {
    const dispatch = async (next: Call) => waits.withdrawable(throwRefusal(await heddle.dispatch(next)), next);
    const first = call.onProgress ? { ...call, onProgress: increasing(call.onProgress) } : call;
    return runToCompletion(dispatch, first, { ask: sendAll(sendRequest), describe, settled });
  }

  /** Runs a call of a client that handles no input requests to its end: its continuation can only be a wait or a task. */
  const waitFor = (call: Call) =>
    runToCompletion(heddle.dispatch, call, { ask: rejectInputRequest, describe, settled });

  async function goOnForLegacy(result: Exclude<Result, { kind: 'complete' }>, call: Call): Promise<JsonObject> {
    const next = result.kind === 'waiting' ? await waits.goOn(result, call) : result;
    if (next.kind === 'complete') return toLegacyResult(next);
    return waitFor({ ...call, continuation: next.continuation }).then(toLegacyResult);
  }

  function runForLegacy(call: Call, sendRequest: SendClientRequest | undefined): Promise<JsonObject> {
    const { capabilities } = call;
    const handlesInput = sendRequest && capabilities && hasAnyCapability(capabilities);
    const first: Promise<Result> = handlesInput ? runWithInput(call, sendRequest) : heddle.dispatch(call);
    return first.then((result) => (result.kind === 'complete' ? toLegacyResult(result) : goOnForLegacy(result, call)));
  }

  async function runForModern(call: Call, params: JsonObject): Promise<JsonObject> {
    const resumed = modern.resume(call, params);
    try {
      // A client with the tasks extension gets a task id for a long call, even if the server has no tasks.
      const first = await (resumed.acceptsTask ? continuations.gatewayTasks.run(resumed) : heddle.dispatch(resumed));
      const isWaiting = !(first instanceof GatewayTask) && first.kind === 'waiting';
      const result = isWaiting ? await waits.goOn(first, resumed) : first;
      return withoutReserved(modern.toResult(result, resumed));
    } catch (thrown) {
      throw modern.toRpcError(thrown, resumed);
    }
  }

  return (call, { era, sendRequest }, params = {}) =>
    era === 'legacy' ? runForLegacy(call, sendRequest) : runForModern(call, params);
}

const toLegacyResult = ({ value }: { readonly value: JsonObject }) => withoutReserved(withoutResultType(value));

/** Removes `resultType`, which legacy results do not have. */
function withoutResultType(value: JsonObject): JsonObject {
  if (value.resultType === undefined) return value;
  const { resultType: _, ...rest } = value;
  return rest;
}

/** Throws the -32042 error of a server that requires URL elicitation: a legacy client handles it itself. */
function throwRefusal(result: Result): Result {
  if (result.kind === 'input-required' && result.refusal) throw RpcError.fromError(result.refusal);
  return result;
}

const sendAll =
  (sendRequest: SendClientRequest): AskUser =>
  async (inputRequests, _server, signal) => {
    const responses = Object.entries(inputRequests).map(
      async ([key, one]) => [key, await sendOne(sendRequest, one, signal)] as const,
    );
    return Object.fromEntries(await Promise.all(responses));
  };

async function sendOne(
  sendRequest: SendClientRequest,
  inputRequest: InputRequest,
  signal: AbortSignal,
): Promise<InputResponse> {
  try {
    return await sendRequest(toLegacy(inputRequest), signal);
  } catch (thrown) {
    if (!(thrown instanceof RpcError)) throw thrown;
    return { failed: { code: thrown.code, message: thrown.message } };
  }
}

/** Adds the `elicitationId` that legacy clients require for a URL elicitation. Modern servers send none. */
function toLegacy({ method, params = {} }: InputRequest): InputRequest {
  if (params.mode !== 'url' || typeof params.elicitationId === 'string') return { method, params };
  return { method, params: { ...params, elicitationId: randomUUID() } };
}

async function rejectInputRequest(_inputRequests: unknown, server: string): Promise<never> {
  const message = `${server} sent an input request that this client does not support.`;
  throw new UpstreamError('UPSTREAM_FAILED', message, { delivered: 'maybe' });
}
