import { BoundedMap, BoundedSet } from '../../core/bounded-map.ts';
import type { ClientCapabilities, InputRequest, JsonObject, ResolvedCall, Result } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import { RpcError } from '../../wire/json-rpc.ts';
import { URL_ELICITATION_REQUIRED } from '../../wire/mcp.ts';
import { answeredByUs } from '../call-request.ts';
import type { ServerRequests } from './server-requests.ts';

const COMPLETE = 'notifications/elicitation/complete';
const MAX_URLS = 16;
const MAX_ID_CHARS = 256;
const MAX_REMEMBERED = 1000;
const WAIT_MS = 20_000;

interface Refused {
  readonly server: string;
  readonly call: ResolvedCall;
  readonly thrown: unknown;
  readonly capabilities: ClientCapabilities;
  readonly questions: ServerRequests;
  readonly visited: Pick<UrlElicitations, 'begin'>;
}

/** What a refusal asks the user to visit first; undefined for any other failure, or when the user cannot be asked. */
export function requiredUrls({ server, call, thrown, capabilities, questions, visited }: Refused): Result | undefined {
  if (!(thrown instanceof RpcError) || thrown.code !== URL_ELICITATION_REQUIRED || !capabilities.url) return undefined;
  // Once only: a server that refuses again after the visit is not believed to want another.
  if (call.continuation?.kind === 'call-again') return undefined;
  const listed = isObject(thrown.data) ? thrown.data.elicitations : undefined;
  const elicitations = (Array.isArray(listed) ? listed : []).filter(isNamed).slice(0, MAX_URLS);
  if (elicitations.length === 0) return undefined;
  const user = { capabilities, principal: call.caller.id };
  const after = elicitations.map(({ elicitationId }) => elicitationId);
  try {
    const asked = elicitations.map((params, at): [string, InputRequest] => [
      `q${at + 1}`,
      questions.admit(server, { method: 'elicitation/create', params: { ...params, mode: 'url' } }, user),
    ]);
    for (const [, question] of asked) visited.begin(question, call.onElicitationComplete);
    const data = { ...(thrown.data as JsonObject), elicitations: asked.map(([, { params = {} }]) => params) };
    return {
      kind: 'input-required',
      inputRequests: Object.fromEntries(asked),
      continuation: { kind: 'call-again', server, after },
      refusal: { code: thrown.code, message: thrown.message, data },
    };
  } catch (objection) {
    if (objection instanceof RpcError) return answeredByUs(call, server, objection.message);
    throw objection;
  }
}

const isNamed = (one: unknown): one is JsonObject & { readonly elicitationId: string } =>
  isObject(one) && typeof one.elicitationId === 'string' && one.elicitationId.length <= MAX_ID_CHARS;

/** Whether the user agreed to every URL. */
export function hasAccepted({ inputResponses = {}, continuation }: ResolvedCall): boolean {
  const given = Object.values(inputResponses);
  const wanted = continuation?.kind === 'call-again' ? continuation.after.length : 0;
  return (
    given.length >= wanted &&
    given.every((answer) => isObject(answer) && 'action' in answer && answer.action === 'accept')
  );
}

/** What a line has heard of visits that are over. */
export interface UrlElicitations {
  /** A question is about to be put: where it sends its user to a page, whoever called hears when that is over. */
  begin(question: InputRequest, tell: ResolvedCall['onElicitationComplete']): InputRequest;
  onNotification(method: string, params: JsonObject): void;
  /** Waits until all of these are over, but not for ever: not every server says so. Ends early when the signal aborts. */
  over(ids: readonly string[], signal: AbortSignal): Promise<void>;
  /** Ends every wait. */
  close(): void;
}

export function urlElicitations(waitMs = WAIT_MS): UrlElicitations {
  const heard = new BoundedSet<string>(MAX_REMEMBERED);
  const begun = new BoundedMap<string, NonNullable<ResolvedCall['onElicitationComplete']>>(MAX_REMEMBERED);
  const waiting = new Set<() => void>();
  const closed = new AbortController();
  return {
    begin(question, tell) {
      const { mode, elicitationId } = question.params ?? {};
      if (tell && mode === 'url' && typeof elicitationId === 'string') begun.set(elicitationId, tell);
      return question;
    },
    onNotification(method, params) {
      const { elicitationId } = params;
      if (method !== COMPLETE || typeof elicitationId !== 'string') return;
      begun.get(elicitationId)?.(params);
      begun.delete(elicitationId);
      heard.add(elicitationId);
      for (const look of waiting) look();
    },
    over(ids, signal) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const look = () => {
        if (ids.every((id) => heard.has(id))) resolve();
      };
      const timer = setTimeout(resolve, waitMs);
      const ended = AbortSignal.any([signal, closed.signal]);
      const onAbort = () => resolve();
      waiting.add(look);
      ended.addEventListener('abort', onAbort, { once: true });
      if (ended.aborted) resolve();
      look();
      return promise.finally(() => {
        clearTimeout(timer);
        waiting.delete(look);
        ended.removeEventListener('abort', onAbort);
      });
    },
    close: () => closed.abort(),
  };
}
