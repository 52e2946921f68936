import { isAble, NO_ABILITIES } from '../core/abilities.ts';
import type { Answers, Continuation, JsonObject, Question, ResolvedCall, Result } from '../core/call.ts';
import { UpstreamError } from '../core/errors.ts';
import { isObject } from '../core/json.ts';
import { RpcError } from '../wire/json-rpc.ts';
import { answeredByUs, askedUninvited } from './call-request.ts';
import { MAX_QUESTIONS } from './exchange.ts';
import { isQuestion, type Questions } from './questions.ts';

export type Asked = Readonly<Record<string, Question>>;

// As JSON: it travels sealed, and has to fit there.
const MAX_STATE_BYTES = 32_768;

export interface Asking {
  readonly server: string;
  readonly questions: Pick<Questions, 'admit'>;
  readonly call: ResolvedCall;
}

/** The questions as they may be put to the user; the call ends here where one of them may not be put. */
export function putQuestions({ server, questions, call }: Asking, asked: Asked, next: Continuation): Result {
  const can = call.can ?? NO_ABILITIES;
  const user = { can, principal: call.caller.id };
  if (!Object.values(asked).every((question) => isAble(can, question))) throw askedUninvited(server);
  try {
    const admitted = Object.entries(asked).map(([key, one]) => [key, questions.admit(server, one, user)] as const);
    return { kind: 'input-required', questions: Object.fromEntries(admitted), next };
  } catch (thrown) {
    // There is no way to tell this era's servers, and no other answer would be true: the call ends here.
    if (thrown instanceof RpcError) return answeredByUs(call, server, thrown.message);
    throw thrown;
  }
}

/** What the server asks and remembers. Throws when it asks what is no question, or nothing at all. */
export function readQuestions(server: string, { inputRequests = {}, requestState: state }: JsonObject) {
  if (state !== undefined && !isState(state)) {
    throw senseless(server, `a state that is no text of at most ${MAX_STATE_BYTES} bytes`);
  }
  if (!isObject(inputRequests)) throw senseless(server, 'no list of questions');
  const count = Object.keys(inputRequests).length;
  if (count > MAX_QUESTIONS) throw senseless(server, `${count} questions at once, and ${MAX_QUESTIONS} are the limit`);
  const asked = Object.entries(inputRequests).map(([key, one]): [string, Question] => {
    if (!isObject(one) || !isQuestion(one.method)) throw senseless(server, `a question ${key} that is none`);
    return [key, isObject(one.params) ? { method: one.method, params: one.params } : { method: one.method }];
  });
  if (asked.length === 0 && state === undefined) throw senseless(server, 'neither a question nor a state');
  return { asked: Object.fromEntries(asked) as Asked, state };
}

export const without = (asked: Asked, answers: Answers): Asked =>
  Object.fromEntries(Object.entries(asked).filter(([key]) => !Object.hasOwn(answers, key)));

/** The configured roots, for whatever asks for roots of a user who has none. */
export function rootAnswers(asked: Asked, { can }: ResolvedCall, questions: Pick<Questions, 'roots'>): Answers {
  const roots = questions.roots();
  if (can?.roots || roots.length === 0) return {};
  const keys = Object.keys(asked).filter((key) => asked[key]?.method === 'roots/list');
  return Object.fromEntries(keys.map((key) => [key, { roots }]));
}

/** Why a client could not put a question, when one says so: this era has no words to tell it the server. */
export function failureIn(answers: Answers = {}): string | undefined {
  for (const answer of Object.values(answers)) {
    const { failed } = (isObject(answer) ? answer : {}) as { failed?: { message: string } };
    if (failed) return failed.message;
  }
  return undefined;
}

export const senseless = (server: string, what: string) =>
  new UpstreamError('UPSTREAM_FAILED', `${server} wants to ask something, but sent ${what}.`, { delivered: 'maybe' });

const isState = (state: unknown): state is string =>
  typeof state === 'string' &&
  state.length <= MAX_STATE_BYTES &&
  Buffer.byteLength(JSON.stringify(state)) <= MAX_STATE_BYTES;
