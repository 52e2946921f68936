import { randomUUID } from 'node:crypto';
import { type AskUser, runToCompletion } from '../../core/call/run-to-completion.ts';
import type { Call, InputRequest, InputResponse, JsonObject, Progress, Result } from '../../core/call.ts';
import { UpstreamError } from '../../core/errors.ts';
import type { Heddle } from '../../heddle.ts';
import { RpcError } from '../../wire/json-rpc.ts';
import type { Continuations } from '../continuations/continuations.ts';
import { modernContinuations } from '../continuations/input-required.ts';
import type { RequestContext, SendClientRequest } from '../request-context.ts';
import { withoutReserved } from '../reserved-meta.ts';

/** Calls for a client, and puts whatever the server asks meanwhile to its user, in the words of its era. */
export type RunCall = (call: Call, asked: RequestContext, params?: JsonObject) => Promise<JsonObject>;

export function callRunner(heddle: Heddle, handouts: Continuations): RunCall {
  const modern = modernContinuations(handouts, heddle.access);
  const describe = ({ caller, name, signal }: Call) => heddle.catalog.describe(caller, name, signal);

  /** Its client is asked by requests of ours, while its own is open. */
  function askLegacy(call: Call, ask: SendClientRequest) {
    const dispatch = async (round: Call) => orRefuse(await heddle.dispatch(round));
    const round = call.onProgress ? { ...call, onProgress: increasing(call.onProgress) } : call;
    return runToCompletion(dispatch, round, { ask: askAll(ask), describe });
  }

  /** Nobody can be asked, so it can only have asked for patience, or be at it. */
  const waitFor = (call: Call) => runToCompletion(heddle.dispatch, call, { ask: cannotAsk, describe });

  function runForLegacy(call: Call, ask: SendClientRequest | undefined): Promise<JsonObject> {
    const first: Promise<Result> = ask && call.capabilities ? askLegacy(call, ask) : heddle.dispatch(call);
    return first.then((result) =>
      result.kind === 'complete'
        ? inOldWords(result)
        : waitFor({ ...call, continuation: result.continuation }).then(inOldWords),
    );
  }

  async function runForModern(call: Call, params: JsonObject): Promise<JsonObject> {
    const round = modern.resume(call, params);
    try {
      // Whoever knows tasks need not wait for what takes long, whether its server knows them or not.
      const result = await (round.acceptsTask ? handouts.gatewayTasks.run(round) : heddle.dispatch(round));
      return withoutReserved(modern.toResult(result, round));
    } catch (thrown) {
      throw modern.toRpcError(thrown, round);
    }
  }

  return (call, { era, sendRequest }, params = {}) =>
    era === 'legacy' ? runForLegacy(call, sendRequest) : runForModern(call, params);
}

const inOldWords = ({ value }: { readonly value: JsonObject }) => withoutReserved(withoutModernWords(value));

/** Words that legacy clients do not know. */
function withoutModernWords(value: JsonObject): JsonObject {
  if (value.resultType === undefined) return value;
  const { resultType: _, ...rest } = value;
  return rest;
}

/** A legacy client knows what a server means that refuses until its pages are visited, and calls again by itself. */
function orRefuse(result: Result): Result {
  if (result.kind === 'input-required' && result.refusal) throw RpcError.fromError(result.refusal);
  return result;
}

const askAll =
  (ask: SendClientRequest): AskUser =>
  async (questions, _server, signal) => {
    const asking = Object.entries(questions).map(
      async ([key, one]) => [key, await answerOf(ask, one, signal)] as const,
    );
    return Object.fromEntries(await Promise.all(asking));
  };

async function answerOf(ask: SendClientRequest, question: InputRequest, signal: AbortSignal): Promise<InputResponse> {
  try {
    return await ask(forLegacy(question), signal);
  } catch (thrown) {
    if (!(thrown instanceof RpcError)) throw thrown;
    return { failed: { code: thrown.code, message: thrown.message } };
  }
}

/** Legacy clients know a visit by an id, which newer servers no longer give. */
function forLegacy({ method, params = {} }: InputRequest): InputRequest {
  if (params.mode !== 'url' || typeof params.elicitationId === 'string') return { method, params };
  return { method, params: { ...params, elicitationId: randomUUID() } };
}

/** A server counts anew in each round; to the client it is one request, whose progress never goes back. */
function increasing(report: (progress: Progress) => void): (progress: Progress) => void {
  let last = Number.NEGATIVE_INFINITY;
  return (said) => {
    if (typeof said.progress !== 'number') return report(said);
    if (said.progress <= last) return;
    last = said.progress;
    report(said);
  };
}

async function cannotAsk(_questions: unknown, server: string): Promise<never> {
  const message = `${server} has a question for the user, which this client cannot be asked.`;
  throw new UpstreamError('UPSTREAM_FAILED', message, { delivered: 'maybe' });
}
