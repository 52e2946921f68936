import { isDeepStrictEqual } from 'node:util';
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

/** The limits of `sampling/createMessage`: requests of a server per user and time window, and tokens of each. */
export interface SamplingLimits {
  readonly maxCalls: number;
  readonly windowMs: number;
  readonly maxTokens: number;
}

/** The checks and limits for requests of servers to users. All connections of one Heddle share them. */
export interface ServerRequests {
  readonly suspendedCalls: SuspendedCalls;
  /** Returns the configured roots as MCP `Root` objects. Every server may list them. */
  roots(): readonly JsonObject[];
  /** Calls the listener when the configured roots have changed. Returns a function that removes the listener. */
  onRootsChanged(listener: () => void): () => void;
  /** Calls the listeners if a new configuration has other roots. */
  configured(): void;
  /** Returns the input request as this user may get it. Throws an `RpcError` for the server if they may not. */
  admit(server: string, inputRequest: InputRequest, user: InputUser): InputRequest;
}

/** The user that an input request is for. */
export interface InputUser {
  readonly capabilities: ClientCapabilities;
  readonly principal: string;
  /** True when the same input request was admitted before: it does not count again. */
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
  const listeners = new Set<() => void>();
  let announced = roots();
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
    const key = JSON.stringify([server, principal]); // Each user has limits of their own.
    const known = windows.get(key);
    const window = known && now - known.opensAt < windowMs ? known : { opensAt: now, calls: 0 };
    if (window.calls >= maxCalls) {
      throw new RpcError(
        REJECTED,
        `${server} may send sampling/createMessage ${maxCalls} times in ${windowMs} ms, not more often.`,
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
      if (from !== known.from) known = { from, roots: from.map(toRoot) }; // Every call reads them, so they are converted only when they change.
      return known.roots;
    },
    onRootsChanged(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    configured() {
      if (isDeepStrictEqual(announced, roots())) return;
      announced = roots();
      for (const listener of listeners) listener();
    },
    admit(server, inputRequest, user) {
      if (!canHandle(user.capabilities, inputRequest)) throw unsupported(inputRequest);
      const { method, params } = withoutReservedMeta(inputRequest);
      if (method === 'sampling/createMessage') return { method, params: admitSampling(server, user, params) };
      const problem = method === 'elicitation/create' ? findElicitationProblem(params) : undefined;
      if (problem) throw new RpcError(INVALID_PARAMS, `The elicitation of ${server} was rejected: ${problem}.`);
      return { method, params: method === 'elicitation/create' ? checkedElicitation(params) : params };
    },
  };
}

/** The error for a server whose input request the client does not support. Most servers pass its text on as their result. */
export function unsupported(inputRequest: InputRequest): RpcError {
  const reason = `their client does not support ${requiredCapability(inputRequest)}`;
  const callback = callbackFor(inputRequest);
  const hint = callback === undefined ? '' : ` A program gives \`${callback}\` to openHeddle.`;
  return new RpcError(METHOD_NOT_FOUND, `The user cannot be asked: ${reason}. Use a client that does.${hint}`);
}

/** Removes `progressToken` and the `_meta` keys of MCP, which concern only the two peers of this connection. */
function withoutReservedMeta({ method, params = {} }: InputRequest): Required<InputRequest> {
  const { _meta, ...rest } = params;
  const kept = Object.entries(isObject(_meta) ? _meta : {}).filter(
    ([key]) => key !== 'progressToken' && !key.startsWith(RESERVED_META_PREFIX),
  );
  return { method, params: kept.length === 0 ? rest : { ...rest, _meta: Object.fromEntries(kept) } };
}
