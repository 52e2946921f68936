import { toRoot } from '../../config/read/to-root.ts';
import { REJECTED } from '../../core/call/check-input-response.ts';
import { callbackFor, canHandle, requiredCapability } from '../../core/call/client-capabilities.ts';
import type { ClientCapabilities, InputRequest, JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import { type Clock, steadyClock } from '../../core/time.ts';
import { RpcError } from '../../wire/json-rpc.ts';
import { INVALID_PARAMS, METHOD_NOT_FOUND, RESERVED_META_PREFIX } from '../../wire/mcp.ts';
import { checkedElicitation, findElicitationProblem } from './check-elicitation.ts';
import type { SuspendedCalls } from './suspended-calls.ts';

/** How much servers may let the user's model write. */
export interface SamplingLimits {
  readonly maxCalls: number;
  readonly windowMs: number;
  readonly maxTokens: number;
}

/** What all lines of one Heddle share to put what servers ask to their users. */
export interface ServerRequests {
  readonly suspendedCalls: SuspendedCalls;
  /** The configured roots, in MCP's words; offered to every server when there are any. */
  roots(): readonly JsonObject[];
  /** The question as it may be put to this user. Throws an `RpcError` for the server when it may not. */
  admit(server: string, question: InputRequest, user: InputUser): InputRequest;
}

/** Who would answer. */
export interface InputUser {
  readonly capabilities: ClientCapabilities;
  readonly principal: string;
  /** The very question was admitted before, and is only shown again. */
  readonly isCounted?: boolean;
}

export interface ServerRequestsOptions {
  readonly suspendedCalls: SuspendedCalls;
  /** Configured folders and file:// URIs. */
  readonly roots: () => readonly string[];
  readonly sampling: () => SamplingLimits;
  readonly clock?: Clock;
}

const METHODS: readonly unknown[] = ['elicitation/create', 'sampling/createMessage', 'roots/list'];
const MAX_WINDOWS = 1000;

export const isInputRequest = (method: unknown): method is InputRequest['method'] => METHODS.includes(method);

export function openServerRequests(options: ServerRequestsOptions): ServerRequests {
  const { suspendedCalls, roots, sampling, clock = steadyClock } = options;
  let known: { readonly from: readonly string[]; readonly roots: readonly JsonObject[] } = { from: [], roots: [] };
  const windows = new Map<string, { readonly opensAt: number; calls: number }>();

  function admitSampling(server: string, { principal, isCounted }: InputUser, params: JsonObject): JsonObject {
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
    suspendedCalls,
    roots() {
      const from = roots();
      if (from !== known.from) known = { from, roots: from.map(toRoot) }; // Asked for at every call.
      return known.roots;
    },
    admit(server, question, user) {
      if (!canHandle(user.capabilities, question)) throw unsupported(question);
      const { method, params } = withoutReserved(question);
      if (method === 'sampling/createMessage') return { method, params: admitSampling(server, user, params) };
      const objection = method === 'elicitation/create' ? findElicitationProblem(params) : undefined;
      if (objection)
        throw new RpcError(INVALID_PARAMS, `The user is not asked what ${server} wants to know: ${objection}.`);
      return { method, params: method === 'elicitation/create' ? checkedElicitation(params) : params };
    },
  };
}

/** What a server hears that asks what its user's client cannot be asked. Most tell it the caller as their own result. */
export function unsupported(question: InputRequest): RpcError {
  const why = `their client does not support ${requiredCapability(question)}`;
  const callback = callbackFor(question);
  const how = callback === undefined ? '' : ` A program gives \`${callback}\` to openHeddle.`;
  return new RpcError(METHOD_NOT_FOUND, `The user cannot be asked: ${why}. Use a client that does.${how}`);
}

/** Without what is between the server and us alone. */
function withoutReserved({ method, params = {} }: InputRequest): Required<InputRequest> {
  const { _meta, ...rest } = params;
  const kept = Object.entries(isObject(_meta) ? _meta : {}).filter(
    ([key]) => key !== 'progressToken' && !key.startsWith(RESERVED_META_PREFIX),
  );
  return { method, params: kept.length === 0 ? rest : { ...rest, _meta: Object.fromEntries(kept) } };
}
