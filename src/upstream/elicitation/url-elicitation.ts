import { BoundedMap, BoundedSet } from '../../core/bounded-map.ts';
import type { ClientCapabilities, InputRequest, JsonObject, ResolvedCall, Result } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import { SIGN_IN_ELICITATION } from '../../core/records/sign-in.ts';
import { RpcError } from '../../wire/json-rpc.ts';
import { URL_ELICITATION_REQUIRED } from '../../wire/mcp.ts';
import { errorResult } from '../call-request.ts';
import type { ServerRequests } from './server-requests.ts';

const COMPLETE = 'notifications/elicitation/complete';
const MAX_URLS = 16;
const MAX_ID_CHARS = 256;
const MAX_IDS = 1000;
const WAIT_MS = 20_000;

interface RefusedCall {
  readonly server: string;
  readonly call: ResolvedCall;
  readonly thrown: unknown;
  readonly capabilities: ClientCapabilities;
  readonly serverRequests: ServerRequests;
  readonly urls: Pick<UrlElicitations, 'track'>;
}

/** Returns the URLs of a -32042 error as input requests; undefined for other errors, or without the `url` capability. */
export function requiredUrls(refused: RefusedCall): Result | undefined {
  const { server, call, thrown, capabilities, serverRequests, urls } = refused;
  if (!(thrown instanceof RpcError) || thrown.code !== URL_ELICITATION_REQUIRED || !capabilities.url) return undefined;
  // Once only: a second -32042 after the visit is an error.
  if (call.continuation?.kind === 'call-again') return undefined;
  const listed = isObject(thrown.data) ? thrown.data.elicitations : undefined;
  const elicitations = (Array.isArray(listed) ? listed : []).filter(isNamed).slice(0, MAX_URLS);
  if (elicitations.length === 0) return undefined;
  const user = { capabilities, principal: call.caller.id };
  const after = elicitations.map(({ elicitationId }) => elicitationId);
  try {
    const admitted = elicitations.map((params, at): [string, InputRequest] => [
      `q${at + 1}`,
      serverRequests.admit(server, { method: 'elicitation/create', params: { ...params, mode: 'url' } }, user),
    ]);
    for (const [, inputRequest] of admitted) urls.track(inputRequest, call.onElicitationComplete);
    const data = { ...(thrown.data as JsonObject), elicitations: admitted.map(([, { params = {} }]) => params) };
    return {
      kind: 'input-required',
      inputRequests: Object.fromEntries(admitted),
      continuation: { kind: 'call-again', server, after },
      refusal: { code: thrown.code, message: thrown.message, data },
    };
  } catch (rejection) {
    if (rejection instanceof RpcError) return errorResult(call, server, rejection.message);
    throw rejection;
  }
}

const isNamed = (one: unknown): one is JsonObject & { readonly elicitationId: string } =>
  isObject(one) &&
  typeof one.elicitationId === 'string' &&
  one.elicitationId.length <= MAX_ID_CHARS &&
  !one.elicitationId.startsWith(SIGN_IN_ELICITATION); // These are the gateway's own.

/** Tests whether the user agreed to visit every URL. */
export function hasAccepted({ inputResponses = {}, continuation }: ResolvedCall): boolean {
  const responses = Object.values(inputResponses);
  const wanted = continuation?.kind === 'call-again' ? continuation.after.length : 0;
  return (
    responses.length >= wanted &&
    responses.every((response) => isObject(response) && 'action' in response && response.action === 'accept')
  );
}

/** The URL elicitations of one connection, and which of them the server has reported as complete. */
export interface UrlElicitations {
  /** Keeps the callback to run when the server reports this elicitation as complete. Ignores forms. */
  track(inputRequest: InputRequest, onComplete: ResolvedCall['onElicitationComplete']): void;
  onNotification(method: string, params: JsonObject): void;
  /** Waits until all of these are complete, 20 s at most: not every server reports it. An abort ends the wait. */
  waitForCompletion(ids: readonly string[], signal: AbortSignal): Promise<void>;
  /** Ends every wait. */
  close(): void;
}

export function urlElicitations(waitMs = WAIT_MS): UrlElicitations {
  const complete = new BoundedSet<string>(MAX_IDS);
  const tracked = new BoundedMap<string, NonNullable<ResolvedCall['onElicitationComplete']>>(MAX_IDS);
  const checks = new Set<() => void>();
  const closed = new AbortController();
  return {
    track(inputRequest, onComplete) {
      const { mode, elicitationId } = inputRequest.params ?? {};
      if (onComplete && mode === 'url' && typeof elicitationId === 'string') tracked.set(elicitationId, onComplete);
    },
    onNotification(method, params) {
      const { elicitationId } = params;
      if (method !== COMPLETE || typeof elicitationId !== 'string') return;
      tracked.get(elicitationId)?.(params);
      tracked.delete(elicitationId);
      complete.add(elicitationId);
      for (const check of checks) check();
    },
    waitForCompletion(ids, signal) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const check = () => {
        if (ids.every((id) => complete.has(id))) resolve();
      };
      const timer = setTimeout(resolve, waitMs);
      const ended = AbortSignal.any([signal, closed.signal]);
      const onAbort = () => resolve();
      checks.add(check);
      ended.addEventListener('abort', onAbort, { once: true });
      if (ended.aborted) resolve();
      check();
      return promise.finally(() => {
        clearTimeout(timer);
        checks.delete(check);
        ended.removeEventListener('abort', onAbort);
      });
    },
    close: () => closed.abort(),
  };
}
