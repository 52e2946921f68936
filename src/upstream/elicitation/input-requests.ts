import { canHandle, NO_CAPABILITIES } from '../../core/call/client-capabilities.ts';
import type { Continuation, InputRequest, InputResponses, JsonObject, ResolvedCall, Result } from '../../core/call.ts';
import { UpstreamError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import { RpcError } from '../../wire/json-rpc.ts';
import { answeredByUs, unexpectedInputRequest } from '../call-request.ts';
import { MAX_INPUT_REQUESTS } from './legacy-call.ts';
import { isInputRequest, type ServerRequests } from './server-requests.ts';

export type InputRequiredContext = Readonly<Record<string, InputRequest>>;

// As JSON: it travels sealed, and has to fit there.
const MAX_STATE_BYTES = 32_768;

export interface ModernCallContext {
  readonly server: string;
  readonly questions: Pick<ServerRequests, 'admit'>;
  readonly call: ResolvedCall;
}

/** The questions as they may be put to the user; the call ends here where one of them may not be put. */
export function toInputRequired(
  { server, questions, call }: ModernCallContext,
  asked: InputRequiredContext,
  next: Continuation,
): Result {
  const capabilities = call.capabilities ?? NO_CAPABILITIES;
  const user = { capabilities, principal: call.caller.id };
  if (!Object.values(asked).every((question) => canHandle(capabilities, question)))
    throw unexpectedInputRequest(server);
  try {
    const admitted = Object.entries(asked).map(([key, one]) => [key, questions.admit(server, one, user)] as const);
    return { kind: 'input-required', inputRequests: Object.fromEntries(admitted), continuation: next };
  } catch (thrown) {
    // There is no way to tell this era's servers, and no other answer would be true: the call ends here.
    if (thrown instanceof RpcError) return answeredByUs(call, server, thrown.message);
    throw thrown;
  }
}

/** What the server asks and remembers. Throws when it asks what is no question, or nothing at all. */
export function readInputRequests(server: string, { inputRequests = {}, requestState: state }: JsonObject) {
  if (state !== undefined && !isState(state)) {
    throw invalidInputRequest(server, `a state that is no text of at most ${MAX_STATE_BYTES} bytes`);
  }
  if (!isObject(inputRequests)) throw invalidInputRequest(server, 'no list of questions');
  const count = Object.keys(inputRequests).length;
  if (count > MAX_INPUT_REQUESTS)
    throw invalidInputRequest(server, `${count} questions at once, and ${MAX_INPUT_REQUESTS} are the limit`);
  const asked = Object.entries(inputRequests).map(([key, one]): [string, InputRequest] => {
    if (!isObject(one) || !isInputRequest(one.method))
      throw invalidInputRequest(server, `a question ${key} that is none`);
    return [key, isObject(one.params) ? { method: one.method, params: one.params } : { method: one.method }];
  });
  if (asked.length === 0 && state === undefined) throw invalidInputRequest(server, 'neither a question nor a state');
  return { asked: Object.fromEntries(asked) as InputRequiredContext, state };
}

export const without = (asked: InputRequiredContext, answers: InputResponses): InputRequiredContext =>
  Object.fromEntries(Object.entries(asked).filter(([key]) => !Object.hasOwn(answers, key)));

/** The configured roots, for whatever asks for roots of a user who has none. */
export function rootResponses(
  asked: InputRequiredContext,
  { capabilities }: ResolvedCall,
  questions: Pick<ServerRequests, 'roots'>,
): InputResponses {
  const roots = questions.roots();
  if (capabilities?.roots || roots.length === 0) return {};
  const keys = Object.keys(asked).filter((key) => asked[key]?.method === 'roots/list');
  return Object.fromEntries(keys.map((key) => [key, { roots }]));
}

/** Why a client could not put a question, when one says so: this era has no words to tell it the server. */
export function failureIn(answers: InputResponses = {}): string | undefined {
  for (const answer of Object.values(answers)) {
    const { failed } = (isObject(answer) ? answer : {}) as { failed?: { message: string } };
    if (failed) return failed.message;
  }
  return undefined;
}

export const invalidInputRequest = (server: string, what: string) =>
  new UpstreamError('UPSTREAM_FAILED', `${server} wants to ask something, but sent ${what}.`, { delivered: 'maybe' });

const isState = (state: unknown): state is string =>
  typeof state === 'string' &&
  state.length <= MAX_STATE_BYTES &&
  Buffer.byteLength(JSON.stringify(state)) <= MAX_STATE_BYTES;
