import { randomUUID } from 'node:crypto';
import type { Call, Caller, Handler, Result } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import { SIGN_IN_ELICITATION } from '../../core/records/sign-in.ts';
import { realTimer, repeatEvery, type Timer } from '../../core/time.ts';
import type { Heddle } from '../../heddle.ts';

const WAIT_MS = 20_000;
// Another replica may receive the callback, so the store is read again and again.
const POLL_MS = 500;

export interface CallsAfterSignInOptions {
  readonly heddle: Pick<Heddle, 'dispatch' | 'browserSignIns'>;
  readonly timer?: Timer;
  readonly waitMs?: number;
}

/** Calls of callers that have no token yet. */
export interface CallsAfterSignIn {
  /** Like `dispatch`, but a caller that has to sign in gets a URL elicitation, or the URL in an error result. */
  readonly dispatch: Handler;
  /** Lets the waiting calls of a caller go on. */
  onSignedIn(caller: Caller, server: string): void;
}

export function callsAfterSignIn(options: CallsAfterSignInOptions): CallsAfterSignIn {
  const { heddle } = options;
  const waiting = new Set<{ readonly caller: string; readonly server: string; readonly check: () => void }>();

  /** Waits until the caller has a token for the server, 20 s at most. Returns whether it has one. */
  async function waitForToken({ caller, signal }: Call, server: string): Promise<boolean> {
    const { timer = realTimer, waitMs = WAIT_MS } = options;
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    const check = () =>
      void heddle.browserSignIns.isSignedIn(caller, server).then((isSignedIn) => isSignedIn && resolve(true), reject);
    const one = { caller: caller.id, server, check };
    const onAbort = () => resolve(false);
    const ends = [repeatEvery(timer, POLL_MS, check), timer(waitMs, () => resolve(false))];
    waiting.add(one);
    signal.addEventListener('abort', onAbort, { once: true });
    check();
    try {
      return await promise;
    } finally {
      for (const end of ends) end();
      waiting.delete(one);
      signal.removeEventListener('abort', onAbort);
    }
  }

  async function goOn(call: Call, { server, elicitationId }: SignInElicitation): Promise<Result> {
    const { continuation: _, inputResponses, ...again } = call;
    if (!isAccepted(inputResponses)) return errorResult(call, server, `The sign-in to ${server} was declined.`);
    if (await waitForToken(call, server)) call.onElicitationComplete?.({ elicitationId });
    call.signal.throwIfAborted();
    return heddle.dispatch(again).catch((thrown: unknown) => describeUrl(call, thrown));
  }

  /** Returns the elicitation of the sign-in that an error asks for. Rethrows other errors. */
  async function requestSignIn(call: Call, thrown: unknown): Promise<Result> {
    const server = serverToSignInTo(thrown);
    if (server === undefined || !call.capabilities?.url || call.kind === 'subscription')
      return describeUrl(call, thrown);
    const url = await heddle.browserSignIns.pageFor(call.caller, server);
    if (url === undefined) throw thrown;
    const elicitationId = `${SIGN_IN_ELICITATION}${randomUUID()}`;
    const message = `${server} needs your account. Open the page to sign in; the call then goes on.`;
    const params = { mode: 'url', message, url, elicitationId };
    return {
      kind: 'input-required',
      inputRequests: { sign_in: { method: 'elicitation/create', params } },
      continuation: { kind: 'call-again', server, after: [elicitationId] },
    };
  }

  /** Adds the URL of the page to an error: as the result of a tool, else as the advice of the error. */
  async function describeUrl(call: Call, thrown: unknown): Promise<Result> {
    const server = serverToSignInTo(thrown);
    const url = server === undefined ? undefined : await heddle.browserSignIns.pageFor(call.caller, server);
    if (server === undefined || url === undefined) throw thrown;
    const { message, details } = HeddleError.from(thrown);
    const advice = `Open this page to sign in, then call again: ${url}`;
    if (call.kind === 'tool') return errorResult(call, server, `${message} ${advice}`);
    throw new HeddleError('AUTH_NEEDED', message, { fix: advice, details, cause: thrown });
  }

  return {
    dispatch(call) {
      const elicitation = elicitationOf(call);
      if (elicitation) return goOn(call, elicitation);
      return heddle.dispatch(call).catch((thrown: unknown) => requestSignIn(call, thrown));
    },
    onSignedIn(caller, server) {
      for (const one of waiting) if (one.caller === caller.id && one.server === server) one.check();
    },
  };
}

interface SignInElicitation {
  readonly server: string;
  readonly elicitationId: string;
}

/** Returns the sign-in that a continued call waits for. */
function elicitationOf({ continuation }: Call): SignInElicitation | undefined {
  if (continuation?.kind !== 'call-again') return undefined;
  const [elicitationId] = continuation.after;
  if (!elicitationId?.startsWith(SIGN_IN_ELICITATION)) return undefined;
  return { server: continuation.server, elicitationId };
}

function isAccepted(inputResponses: Call['inputResponses'] = {}): boolean {
  const response = inputResponses.sign_in;
  return isObject(response) && 'action' in response && response.action === 'accept';
}

/** Returns the server that an error asks to sign in to. */
function serverToSignInTo(thrown: unknown): string | undefined {
  const { server } = HeddleError.is(thrown) && thrown.code === 'AUTH_NEEDED' ? thrown.details : {};
  return typeof server === 'string' ? server : undefined;
}

function errorResult({ kind }: Call, server: string, text: string): Result {
  if (kind !== 'tool') throw new HeddleError('AUTH_NEEDED', text, { details: { server } });
  const value = { content: [{ type: 'text', text }], isError: true };
  return { kind: 'complete', value, isError: true, provenance: { server, attempts: 0, latencyMs: 0 } };
}
