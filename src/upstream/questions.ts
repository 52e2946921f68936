import { toRoot } from '../config/to-root.ts';
import { abilityFor, callbackFor, isAble } from '../core/abilities.ts';
import type { Abilities, JsonObject, Question } from '../core/call.ts';
import { REJECTED } from '../core/checked-answer.ts';
import { type Clock, steadyClock } from '../core/clock.ts';
import { isObject } from '../core/json.ts';
import { INVALID_PARAMS, METHOD_NOT_FOUND, RpcError } from '../wire/json-rpc.ts';
import { checkedElicitation, objectionTo } from './elicitation.ts';
import type { Parking } from './parking.ts';

/** How much servers may let the user's model write. */
export interface SamplingLimits {
  readonly maxCalls: number;
  readonly windowMs: number;
  readonly maxTokens: number;
}

/** What all lines of one Heddle share to put what servers ask to their users. */
export interface Questions {
  readonly parking: Parking;
  /** The configured roots, in MCP's words; offered to every server when there are any. */
  roots(): readonly JsonObject[];
  /** The question as it may be put to this user. Throws an `RpcError` for the server when it may not. */
  admit(server: string, question: Question, user: AskedUser): Question;
}

/** Who would answer. */
export interface AskedUser {
  readonly can: Abilities;
  readonly principal: string;
  /** The very question was admitted before, and is only shown again. */
  readonly isCounted?: boolean;
}

export interface QuestionsOptions {
  readonly parking: Parking;
  /** Configured folders and file:// URIs. */
  readonly roots: () => readonly string[];
  readonly sampling: () => SamplingLimits;
  readonly clock?: Clock;
}

const METHODS: readonly unknown[] = ['elicitation/create', 'sampling/createMessage', 'roots/list'];
const RESERVED = 'io.modelcontextprotocol/';
const MAX_WINDOWS = 1000;

export const isQuestion = (method: unknown): method is Question['method'] => METHODS.includes(method);

export function openQuestions(options: QuestionsOptions): Questions {
  const { parking, roots, sampling, clock = steadyClock } = options;
  let known: { readonly from: readonly string[]; readonly roots: readonly JsonObject[] } = { from: [], roots: [] };
  const windows = new Map<string, { readonly opensAt: number; calls: number }>();

  function admitSampling(server: string, { principal, isCounted }: AskedUser, params: JsonObject): JsonObject {
    if (!isCounted) countSampling(server, principal);
    const { maxTokens } = sampling();
    const wanted = typeof params.maxTokens === 'number' ? params.maxTokens : maxTokens;
    return { ...params, maxTokens: Math.min(wanted, maxTokens) };
  }

  function countSampling(server: string, principal: string): void {
    const { maxCalls, windowMs } = sampling();
    const now = clock();
    const key = JSON.stringify([server, principal]); // No user takes from another what a server may ask them.
    const known = windows.get(key);
    const window = known && now - known.opensAt < windowMs ? known : { opensAt: now, calls: 0 };
    if (window.calls >= maxCalls) {
      throw new RpcError(
        REJECTED,
        `${server} may ask the user's model ${maxCalls} times in ${windowMs} ms, not oftener.`,
      );
    }
    window.calls++;
    windows.set(key, window);
    if (windows.size > MAX_WINDOWS) forgetBefore(now - windowMs);
  }

  function forgetBefore(time: number): void {
    for (const [key, { opensAt }] of windows) if (opensAt <= time) windows.delete(key);
  }

  return {
    parking,
    roots() {
      const from = roots();
      if (from !== known.from) known = { from, roots: from.map(toRoot) }; // Asked for at every call.
      return known.roots;
    },
    admit(server, question, user) {
      if (!isAble(user.can, question)) throw unsupported(question);
      const { method, params } = withoutReserved(question);
      if (method === 'sampling/createMessage') return { method, params: admitSampling(server, user, params) };
      const objection = method === 'elicitation/create' ? objectionTo(params) : undefined;
      if (objection)
        throw new RpcError(INVALID_PARAMS, `The user is not asked what ${server} wants to know: ${objection}.`);
      return { method, params: method === 'elicitation/create' ? checkedElicitation(params) : params };
    },
  };
}

/** What a server hears that asks what its user's client cannot be asked. Most tell it the caller as their own result. */
export function unsupported(question: Question): RpcError {
  const why = `their client does not support ${abilityFor(question)}`;
  const callback = callbackFor(question);
  const how = callback === undefined ? '' : ` A program gives \`${callback}\` to openHeddle.`;
  return new RpcError(METHOD_NOT_FOUND, `The user cannot be asked: ${why}. Use a client that does.${how}`);
}

/** Without what is between the server and us alone. */
function withoutReserved({ method, params = {} }: Question): Required<Question> {
  const { _meta, ...rest } = params;
  const kept = Object.entries(isObject(_meta) ? _meta : {}).filter(
    ([key]) => key !== 'progressToken' && !key.startsWith(RESERVED),
  );
  return { method, params: kept.length === 0 ? rest : { ...rest, _meta: Object.fromEntries(kept) } };
}
