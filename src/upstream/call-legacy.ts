import { isAskable, sharedAbilities } from '../core/abilities.ts';
import type { Abilities, JsonObject, Question, ResolvedCall, Result } from '../core/call.ts';
import { UpstreamError } from '../core/errors.ts';
import type { Asked } from '../wire/answering-side.ts';
import { METHOD_NOT_FOUND, RpcError } from '../wire/json-rpc.ts';
import type { Peer } from '../wire/peer.ts';
import { NO_ABILITIES } from './abilities-key.ts';
import { answered, answeredByUs, askOf, requestOf } from './call-request.ts';
import { Exchange } from './exchange.ts';
import { toFailure } from './failure.ts';
import type { Parking } from './parking.ts';
import { isQuestion, type Questions, unsupported } from './questions.ts';
import { hasAgreed, urlsToVisit, visits } from './url-required.ts';

export interface CallsOptions {
  readonly peer: Peer;
  readonly server: string;
  /** What the server was told that the user can be asked. */
  readonly can: Abilities;
  readonly questions: Questions;
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
}

/** Calls to a server that asks by requests of its own, while ours is open. */
export function legacyCalls({ peer, server, can, questions }: CallsOptions): Calls {
  const running = new Set<Running>();
  const visited = visits();
  const isInvited = isAskable(can);
  let plain = 0;
  let blind = false;

  async function sendPlainly(call: ResolvedCall): Promise<Result> {
    const startedAt = performance.now();
    const { method, params } = requestOf(call);
    plain++;
    try {
      return answered(server, await peer.request(method, params, askOf(call)), startedAt);
    } catch (thrown) {
      throw toFailure(server, thrown);
    } finally {
      plain--;
    }
  }

  async function sendAskably(call: ResolvedCall): Promise<Result> {
    const able = sharedAbilities(can, call.can ?? NO_ABILITIES);
    const onEnd = () => running.delete(one);
    const exchange = new Exchange({ peer, server, call, onEnd });
    const one: Running = { exchange, can: able, principal: call.caller.id };
    running.add(one);
    try {
      return await nextStop(exchange, call, questions.parking);
    } catch (thrown) {
      // Once only: a server that refuses again after the visit is not believed to want another.
      const again = call.from?.kind === 'call-again';
      const urls = again ? undefined : urlsToVisit({ server, call, thrown, can: able, questions });
      if (urls) return urls;
      throw toFailure(server, thrown);
    }
  }

  async function sendAgain(call: ResolvedCall, after: readonly string[]): Promise<Result> {
    if (!hasAgreed(call)) return answeredByUs(call, server, unvisited(server));
    await visited.over(after, call.signal);
    return sendAskably(call);
  }

  return {
    send(call) {
      // It would be called a second time.
      if (call.from?.kind === 'task') return Promise.reject(knowsNoTasks(server));
      if (!isInvited) return sendPlainly(call);
      return call.from?.kind === 'call-again' ? sendAgain(call, call.from.after) : sendAskably(call);
    },
    async answer(method, params, { signal, askedBy }) {
      if (!isQuestion(method)) throw new RpcError(METHOD_NOT_FOUND, `${method} is not supported.`);
      const own = method === 'roots/list' ? questions.roots() : [];
      // Asked outside of calls as often as not: only a client with roots of its own has to be asked.
      if (own.length > 0 && !can.roots) return { roots: own };
      if (askedBy === undefined && running.size > 0) blind = true;
      const owner = ownerOf([...running], askedBy);
      if (own.length > 0 && !owner?.can.roots) return { roots: own };
      if (!owner) throw nobodyToAsk({ method, params }, plain);
      return owner.exchange.put(questions.admit(server, { method, params }, owner), signal);
    },
    hear: visited.hear,
    asksBlindly: () => blind,
    underWay: () => plain + running.size,
    close: visited.close,
  };
}

/** Why a question is put to nobody, when this many calls are under way whose callers cannot be asked. */
function nobodyToAsk(question: Question, plain: number): RpcError {
  if (plain > 0) return unsupported(question);
  return new RpcError(METHOD_NOT_FOUND, `${question.method} came during no call, so there is nobody to ask.`);
}

/** The call a question belongs to. Where the line does not say, it is guessed: among calls of one principal. */
function ownerOf(running: readonly Running[], askedBy: number | undefined): Running | undefined {
  if (askedBy !== undefined) return running.find(({ exchange }) => exchange.id === askedBy);
  const active = running.filter(({ exchange }) => exchange.isActive);
  return active.find(({ exchange }) => !exchange.isAsking) ?? active[0] ?? running[0];
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
  if (stop.kind === 'answered') return answered(server, stop.value, startedAt);
  const ticket = parking.park(exchange, call);
  return { kind: 'input-required', questions: stop.questions, next: { kind: 'parked', server, ticket } };
}

const knowsNoTasks = (server: string) =>
  new UpstreamError('UPSTREAM_REFUSED', `${server} knows nothing of what it was doing.`, { delivered: 'maybe' });
const unvisited = (server: string) =>
  `${server} does not do this before its page is visited, and the user did not agree to that.`;
