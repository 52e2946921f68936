import { NO_ABILITIES } from '../core/abilities.ts';
import type { Answers, JsonObject, ResolvedCall, Result } from '../core/call.ts';
import { TASKS } from '../core/task.ts';
import type { Ask } from '../wire/ask.ts';
import { METHOD_NOT_FOUND, RpcError } from '../wire/json-rpc.ts';
import { paramHeaders } from '../wire/param-headers.ts';
import type { Calls, CallsOptions } from './call-legacy.ts';
import { answered, answeredByUs, askOf, hasKeys, requestOf } from './call-request.ts';
import { toFailure } from './failure.ts';
import { taskFollower } from './follow-task.ts';
import { failureIn, putQuestions, readQuestions, rootAnswers, senseless, without } from './modern-questions.ts';
import { capabilitiesOf, KEY } from './negotiate.ts';

export interface ModernOptions extends CallsOptions {
  /** All tools as the server describes them now. */
  readonly listTools: (signal: AbortSignal) => Promise<readonly JsonObject[]>;
}

const HEADER_MISMATCH = -32020;
// A server that wants the roots again and again would be asked for ever.
const MAX_ROUNDS = 4;

interface Round {
  readonly answers: Answers | undefined;
  readonly state: string | undefined;
}

/** Calls to a server that asks by its answer, and is asked again with what the user said. */
export function modernCalls(options: ModernOptions): Calls {
  const { server, questions, listTools } = options;
  const request = requester(options);
  const tasks = taskFollower({ server, questions, request });
  let underWay = 0;

  /** Our headers may follow a description that is no longer the server's. */
  async function askUpToDate(call: ResolvedCall, round: Round): Promise<JsonObject> {
    try {
      return await request(...roundOf(call, round));
    } catch (thrown) {
      const isOutdated = thrown instanceof RpcError && thrown.code === HEADER_MISMATCH && call.kind === 'tool';
      if (!isOutdated) throw thrown;
      const tools = await listTools(call.signal);
      const tool = tools.find(({ name }) => name === call.target.name);
      if (!tool) throw thrown;
      return request(...roundOf(call, round, tool.inputSchema));
    }
  }

  /** Asks until what is left is for the user: the configured roots are ours to tell. */
  async function send(call: ResolvedCall): Promise<Result> {
    const startedAt = performance.now();
    let round = firstRound(call);
    for (let rounds = 1; ; rounds++) {
      const value = await askUpToDate(call, round);
      if (isBegun(value, call)) return tasks.begun(value);
      if (value.resultType !== 'input_required') return answered(server, value, startedAt);
      const { asked, state } = readQuestions(server, value);
      const ours = rootAnswers(asked, call, questions);
      const rest = without(asked, ours);
      const isOurs = hasKeys(ours) && !hasKeys(rest);
      if (!isOurs) return putQuestions({ server, questions, call }, rest, toNext(server, state));
      if (rounds === MAX_ROUNDS) throw senseless(server, 'the same question again and again');
      round = { answers: ours, state };
    }
  }

  return {
    async send(call) {
      const { from, answers } = call;
      const isTask = from?.kind === 'task';
      const failed = isTask ? undefined : failureIn(answers);
      if (failed !== undefined) return answeredByUs(call, server, `The user could not be asked: ${failed}`);
      underWay++;
      try {
        return await (isTask ? tasks.follow(call, from) : send(call));
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

type Request = (method: string, params: JsonObject, call: ResolvedCall, ask: Ask) => Promise<JsonObject>;

/** Says with each request what its call's user can be asked, and whether somebody waits. */
function requester({ peer, questions }: ModernOptions): Request {
  return function request(method, params, call, ask) {
    const can = capabilitiesOf(call.can ?? NO_ABILITIES, questions.roots().length > 0);
    // A server that is not told so answers at once or not at all.
    const capabilities = call.takesTasks ? { ...can, extensions: { [TASKS]: {} } } : can;
    const level = call.log && { [KEY('logLevel')]: call.log.level };
    return peer.request(method, params, { ...ask, envelope: { [KEY('clientCapabilities')]: capabilities, ...level } });
  };
}

function roundOf(
  call: ResolvedCall,
  { answers, state }: Round,
  schema = call.target.definition.inputSchema,
): Parameters<Request> {
  const { method, params: plain } = requestOf(call);
  const params = {
    ...plain,
    ...(answers && { inputResponses: answers as JsonObject }),
    ...(state !== undefined && { requestState: state }),
  };
  const headers = call.kind === 'tool' && { headers: paramHeaders(schema, call.input) };
  return [method, params, call, { ...askOf(call), ...headers }];
}

const firstRound = ({ answers, from }: ResolvedCall): Round => ({
  answers,
  state: from?.kind === 'upstream' ? from.state : undefined,
});

const isBegun = ({ resultType }: JsonObject, { takesTasks }: ResolvedCall) =>
  resultType === 'task' && takesTasks === true;

const toNext = (server: string, state: string | undefined) =>
  ({ kind: 'upstream', server, ...(state !== undefined && { state }) }) as const;
