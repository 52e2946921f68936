import { isAble } from '../core/abilities.ts';
import type { Answers, JsonObject, Question, ResolvedCall, Result } from '../core/call.ts';
import { UpstreamError } from '../core/errors.ts';
import { isObject } from '../core/json.ts';
import { METHOD_NOT_FOUND, RpcError } from '../wire/json-rpc.ts';
import { paramHeaders } from '../wire/param-headers.ts';
import { NO_ABILITIES } from './abilities-key.ts';
import type { Calls, CallsOptions } from './call-legacy.ts';
import { answered, answeredByUs, askedUninvited, askOf, hasKeys, requestOf } from './call-request.ts';
import { MAX_QUESTIONS } from './exchange.ts';
import { toFailure } from './failure.ts';
import { capabilitiesOf, KEY } from './negotiate.ts';
import { isQuestion, type Questions } from './questions.ts';

export interface ModernOptions extends CallsOptions {
  /** All tools as the server describes them now. */
  readonly listTools: (signal: AbortSignal) => Promise<readonly JsonObject[]>;
}

const HEADER_MISMATCH = -32020;
const MAX_STATE_CHARS = 32_768;
// A server that wants the roots again and again would be asked for ever.
const MAX_ROUNDS = 4;

interface Round {
  readonly answers: Answers | undefined;
  readonly state: string | undefined;
}

/** Calls to a server that asks by its answer, and is asked again with what the user said. */
export function modernCalls(options: ModernOptions): Calls {
  const { peer, server, questions, listTools } = options;
  let underWay = 0;

  function ask(call: ResolvedCall, { answers, state }: Round, schema = call.target.definition.inputSchema) {
    const { method, params: plain } = requestOf(call);
    const params = {
      ...plain,
      ...(answers && { inputResponses: answers as JsonObject }),
      ...(state !== undefined && { requestState: state }),
    };
    const capabilities = capabilitiesOf(call.can ?? NO_ABILITIES, questions.roots().length > 0);
    return peer.request(method, params, {
      ...askOf(call),
      envelope: { [KEY('clientCapabilities')]: capabilities, ...(call.log && { [KEY('logLevel')]: call.log.level }) },
      ...(call.kind === 'tool' && { headers: paramHeaders(schema, call.input) }),
    });
  }

  /** Our headers may follow a description that is no longer the server's. */
  async function askUpToDate(call: ResolvedCall, round: Round): Promise<JsonObject> {
    try {
      return await ask(call, round);
    } catch (thrown) {
      const isOutdated = thrown instanceof RpcError && thrown.code === HEADER_MISMATCH && call.kind === 'tool';
      if (!isOutdated) throw thrown;
      const tools = await listTools(call.signal);
      const tool = tools.find(({ name }) => name === call.target.name);
      if (!tool) throw thrown;
      return ask(call, round, tool.inputSchema);
    }
  }

  /** Asks until what is left is for the user: the configured roots are ours to tell. */
  async function send(call: ResolvedCall): Promise<Result> {
    const startedAt = performance.now();
    let round: Round = { answers: call.answers, state: call.from?.kind === 'upstream' ? call.from.state : undefined };
    for (let rounds = 1; ; rounds++) {
      const value = await askUpToDate(call, round);
      if (value.resultType !== 'input_required') return answered(server, value, startedAt);
      const { asked, state } = readQuestions(server, value);
      const ours = rootAnswers(asked, call, questions);
      const rest = without(asked, ours);
      if (!hasKeys(ours) || hasKeys(rest)) return put({ server, questions, call }, rest, state);
      if (rounds === MAX_ROUNDS) throw senseless(server, 'the same question again and again');
      round = { answers: ours, state };
    }
  }

  return {
    async send(call) {
      const failed = failureIn(call.answers);
      if (failed !== undefined) return answeredByUs(call, server, `The user could not be asked: ${failed}`);
      underWay++;
      try {
        return await send(call);
      } catch (thrown) {
        throw toFailure(server, thrown);
      } finally {
        underWay--;
      }
    },
    async answer(method) {
      throw new RpcError(METHOD_NOT_FOUND, `${method} is not supported.`);
    },
    hear() {},
    asksBlindly: () => false,
    underWay: () => underWay,
    close() {},
  };
}

type Asked = Readonly<Record<string, Question>>;

interface Asking {
  readonly server: string;
  readonly questions: Questions;
  readonly call: ResolvedCall;
}

function put({ server, questions, call }: Asking, asked: Asked, state: string | undefined): Result {
  const can = call.can ?? NO_ABILITIES;
  const user = { can, principal: call.caller.id };
  if (!Object.values(asked).every((question) => isAble(can, question))) throw askedUninvited(server);
  try {
    const admitted = Object.entries(asked).map(([key, one]) => [key, questions.admit(server, one, user)] as const);
    const next = { kind: 'upstream', server, ...(state !== undefined && { state }) } as const;
    return { kind: 'input-required', questions: Object.fromEntries(admitted), next };
  } catch (thrown) {
    // There is no way to tell this era's servers, and no other answer would be true: the call ends here.
    if (thrown instanceof RpcError) return answeredByUs(call, server, thrown.message);
    throw thrown;
  }
}

/** What the server asks and remembers. Throws when it asks what is no question, or nothing at all. */
function readQuestions(server: string, { inputRequests = {}, requestState: state }: JsonObject) {
  const isState = state === undefined || (typeof state === 'string' && state.length <= MAX_STATE_CHARS);
  if (!isState) throw senseless(server, `a state that is no text of at most ${MAX_STATE_CHARS} characters`);
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

const without = (asked: Asked, answers: Answers): Asked =>
  Object.fromEntries(Object.entries(asked).filter(([key]) => !Object.hasOwn(answers, key)));

/** The configured roots, for whatever asks for roots of a user who has none. */
function rootAnswers(asked: Asked, { can }: ResolvedCall, questions: Questions): Answers {
  const roots = questions.roots();
  if (can?.roots || roots.length === 0) return {};
  const keys = Object.keys(asked).filter((key) => asked[key]?.method === 'roots/list');
  return Object.fromEntries(keys.map((key) => [key, { roots }]));
}

/** Why a client could not put a question, when one says so: this era has no words to tell it the server. */
function failureIn(answers: Answers = {}): string | undefined {
  for (const answer of Object.values(answers)) {
    const { failed } = (isObject(answer) ? answer : {}) as { failed?: { message: string } };
    if (failed) return failed.message;
  }
  return undefined;
}

const senseless = (server: string, what: string) =>
  new UpstreamError('UPSTREAM_FAILED', `${server} wants to ask something, but sent ${what}.`, { delivered: 'maybe' });
