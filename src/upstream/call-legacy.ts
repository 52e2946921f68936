import { isAble, isAskable, NO_ABILITIES, sharedAbilities } from '../core/abilities.ts';
import type { Abilities, JsonObject, Question, ResolvedCall, Result } from '../core/call.ts';
import { UpstreamError } from '../core/errors.ts';
import type { Asked } from '../wire/answering-side.ts';
import { METHOD_NOT_FOUND, RpcError } from '../wire/json-rpc.ts';
import type { Peer } from '../wire/peer.ts';
import { answered, answeredByUs, askOf, requestOf } from './call-request.ts';
import { Exchange, type OpenQuestion } from './exchange.ts';
import { toFailure } from './failure.ts';
import { beginTask, isOnlyTask, type LegacyTask, relatedTask, withoutTask } from './legacy-task.ts';
import type { Parking } from './parking.ts';
import { isQuestion, type Questions, unsupported } from './questions.ts';
import { hasAgreed, urlsToVisit, type Visits, visits } from './url-required.ts';

export interface CallsOptions {
  readonly peer: Peer;
  readonly server: string;
  /** What the server was told that the user can be asked. */
  readonly can: Abilities;
  readonly questions: Questions;
  /** Whether tools can be called as tasks of 2025-11-25. */
  readonly takesTaskCalls?: () => boolean;
}

/** The calls of one line, and what the server asks in the middle of them. */
export interface Calls {
  /** One round. */
  send(call: ResolvedCall): Promise<Result>;
  /** Answers what the server asks. */
  answer(method: string, params: JsonObject, asked: Asked): Promise<JsonObject>;
  hear(method: string, params: JsonObject): void;
  asksBlindly(): boolean;
  underWay(): number;
  close(): void;
}

interface Running {
  readonly exchange: Exchange;
  readonly can: Abilities;
  readonly principal: string;
  readonly visited: ResolvedCall['visited'];
}

/** Calls to a server that asks by requests of its own, while ours is open. */
export function legacyCalls(options: CallsOptions): Calls {
  const { server, can, questions } = options;
  const askable = askableCalls();
  const visited = visits();
  const { send, plain, beginning } = sender(options, askable, visited);
  return {
    send,
    async answer(method, params, { signal, askedBy }) {
      if (!isQuestion(method)) throw new RpcError(METHOD_NOT_FOUND, `${method} is not supported.`);
      const own = method === 'roots/list' ? questions.roots() : [];
      // Asked outside of calls as often as not: only a client with roots of its own has to be asked.
      if (own.length > 0 && !can.roots) return { roots: own };
      const taskId = relatedTask(params);
      const owner = askable.ownerOf({ askedBy, taskId });
      if (own.length > 0 && !owner?.can.roots) return { roots: own };
      if (!owner) throw nobodyToAsk({ method, params }, plain());
      const asking = { withdrawn: signal, isGuess: askedBy === undefined && taskId === undefined };
      const question = questions.admit(server, { method, params }, owner);
      return owner.exchange.put(visited.begin(question, owner.visited), asking);
    },
    hear: visited.hear,
    asksBlindly: askable.asksBlindly,
    underWay: () => plain() + beginning() + askable.running.size,
    close: visited.close,
  };
}

/** Sends calls, each in the way its server and its user can take it. */
function sender(options: CallsOptions, { running, handOver }: AskableCalls, visited: Visits) {
  const { peer, server, can, questions, takesTaskCalls = () => false } = options;
  const isInvited = isAskable(can);
  const able = (call: ResolvedCall) => sharedAbilities(can, call.can ?? NO_ABILITIES);
  let plain = 0;
  let beginning = 0;

  // Nearly every call goes this way, so a chain: an async function would cost each of them half a kilobyte.
  function sendPlainly(call: ResolvedCall): Promise<Result> {
    const startedAt = performance.now();
    const { method, params } = requestOf(call);
    plain++; // From here on nothing throws but the promise.
    return peer.request(method, params, askOf(call)).then(
      (value) => {
        plain--;
        return answered(server, value, startedAt);
      },
      (thrown) => {
        plain--;
        throw toFailure(server, thrown);
      },
    );
  }

  async function sendAsTask(call: ResolvedCall): Promise<Result> {
    const startedAt = performance.now();
    beginning++;
    return orVisit(call, async () => {
      const begun = await beginTask(peer, call).finally(() => beginning--);
      return 'value' in begun ? answered(server, begun.value, startedAt) : exchanged(call, begun);
    });
  }

  const sendAskably = (call: ResolvedCall) => orVisit(call, () => exchanged(call));

  function exchanged(call: ResolvedCall, task?: LegacyTask): Promise<Result> {
    const onEnd = () => running.delete(one);
    const exchange = new Exchange({ peer, server, call, task, onEnd, handOver });
    const one: Running = { exchange, can: able(call), principal: call.caller.id, visited: call.visited };
    running.add(one);
    return nextStop(exchange, call, questions.parking);
  }

  /** What comes of a call, or what its server wants visited before it does anything. */
  async function orVisit(call: ResolvedCall, done: () => Promise<Result>): Promise<Result> {
    try {
      return await done();
    } catch (thrown) {
      const urls = urlsToVisit({ server, call, thrown, can: able(call), questions, visited });
      if (urls) return urls;
      throw toFailure(server, thrown);
    }
  }

  function sendAnew(call: ResolvedCall): Promise<Result> {
    if (isOnlyTask(call) && takesTaskCalls()) return sendAsTask(call);
    return isInvited ? sendAskably(call) : sendPlainly(call);
  }

  async function sendAgain(call: ResolvedCall, after: readonly string[]): Promise<Result> {
    if (!hasAgreed(call)) return answeredByUs(call, server, unvisited(server));
    await visited.over(after, call.signal);
    return sendAnew(call);
  }

  function send(call: ResolvedCall): Promise<Result> {
    const { from } = call;
    // It would be called a second time.
    if (from?.kind === 'task') return Promise.reject(knowsNoTasks(server));
    return from?.kind === 'call-again' ? sendAgain(call, from.after) : sendAnew(call);
  }

  return { send, plain: () => plain, beginning: () => beginning };
}

/** Why a question is put to nobody, when this many calls are under way whose callers cannot be asked. */
function nobodyToAsk(question: Question, plain: number): RpcError {
  if (plain > 0) return unsupported(question);
  return new RpcError(METHOD_NOT_FOUND, `${question.method} came during no call, so there is nobody to ask.`);
}

/** What a server says of the call that it asks about. */
interface Clue {
  readonly askedBy?: number | undefined;
  readonly taskId?: unknown;
}

type AskableCalls = ReturnType<typeof askableCalls>;

/** The calls of a line during which the server may ask. */
function askableCalls() {
  const running = new Set<Running>();
  let blind = false;

  /** The call a question belongs to. Where the line does not say, it is guessed: among calls of one principal. */
  function ownerOf({ askedBy, taskId }: Clue): Running | undefined {
    const all = [...running];
    if (taskId !== undefined) return all.find(({ exchange }) => exchange.taskId === taskId);
    if (askedBy !== undefined) return all.find(({ exchange }) => exchange.id === askedBy);
    if (all.length > 0) blind = true;
    const active = all.filter(({ exchange }) => exchange.isActive);
    return active.find(({ exchange }) => !exchange.isAsking) ?? active[0] ?? all[0];
  }

  function handOver(one: OpenQuestion): boolean {
    const owner = ownerOf({});
    return owner !== undefined && isAble(owner.can, one.question) && owner.exchange.adopt(one);
  }

  return { running, ownerOf, handOver, asksBlindly: () => blind };
}

/** Goes on with the call behind a ticket, in whatever line it waits. */
export async function resumeParked(parking: Parking, call: ResolvedCall): Promise<Result> {
  const { exchange, answers } = parking.take(call);
  exchange.proceed(call, answers);
  try {
    return await nextStop(exchange, call, parking);
  } catch (thrown) {
    throw toFailure(exchange.server, thrown);
  }
}

async function nextStop(exchange: Exchange, call: ResolvedCall, parking: Parking): Promise<Result> {
  const startedAt = performance.now();
  const { server } = exchange;
  const stop = await exchange.next();
  if (stop.kind === 'answered') return answered(server, withoutTask(stop.value), startedAt);
  const ticket = parking.park(exchange, call);
  const { questions, over } = stop;
  return { kind: 'input-required', questions, over, next: { kind: 'parked', server, ticket } };
}

const knowsNoTasks = (server: string) =>
  new UpstreamError('UPSTREAM_REFUSED', `${server} knows nothing of what it was doing.`, { delivered: 'maybe' });
const unvisited = (server: string) =>
  `${server} does not do this before its page is visited, and the user did not agree to that.`;
