import type { JsonObject } from '../../core/call.ts';
import { HeddleError, UpstreamError } from '../../core/errors.ts';
import type { Clock } from '../../core/time.ts';
import { refusedPrincipal, type SignInBook } from '../../store/sign-in-book.ts';
import type { TokenVault } from '../../store/token-vault.ts';
import { authNeeded, unionOf } from './auth-needed.ts';
import { challengeFacts, MAX_SCOPES } from './challenge.ts';
import type { AuthorizedRequest, Credential, Refusal } from './credential.ts';
import { NOT_SIGNED_IN, reduceSignIn, type SignInProgress, type SignInRefusal, signInFrom } from './sign-in-state.ts';

/** A credential that knows whether a sign-in is needed, without a request to the server. */
export interface PreparedCredential extends Credential {
  /** Gets what the first request needs. Throws AUTH_NEEDED while a refusal of the server is remembered. */
  prepare(signal: AbortSignal): Promise<void>;
  /** Returns AUTH_NEEDED while a refusal of the server is remembered and no newer credential has come. */
  refusal(): Promise<HeddleError | undefined>;
  /** Returns a text that changes with the credential. */
  version(): Promise<string>;
}

/** A credential of one kind. */
export interface CredentialKind extends Credential {
  /** Gets the headers that do not come from a token, such as those of a helper. */
  prepare?(signal: AbortSignal): Promise<void>;
  /** Tells apart credentials that are not in the vault: another one ends a refusal. */
  fingerprint?(): string;
  /** The advice after a refusal, if it is not to sign in. */
  readonly fix?: string;
}

export interface RememberingOptions {
  readonly server: string;
  readonly serverUrl: string;
  readonly principal: string;
  readonly signIns: SignInBook;
  /** Holds newer tokens, which end a refusal; absent if the credential is not in the vault. */
  readonly vault?: Pick<TokenVault, 'find'> | undefined;
  readonly clock: Clock;
}

/** The time for which a refusal is remembered in the store. */
export const REFUSED_MS = 15 * 60_000;

/** Remembers the refusals of a server in the store, for all processes. Until one ends, no request is sent. */
export function rememberingCredential(kind: CredentialKind, options: RememberingOptions): PreparedCredential {
  const { server, serverUrl, principal, vault, signIns, clock } = options;
  const subject = () => refusedPrincipal(principal, kind.fingerprint?.());
  const { refusalOf, rememberScopes } = refusalsOf(options, subject);
  let signIn: SignInProgress = NOT_SIGNED_IN;
  let remembering: Promise<void> | undefined;

  /** Reads refusal and tokens from the store: another process may have written them. */
  async function refresh(): Promise<SignInProgress> {
    await remembering;
    const refusal = await signIns.refusal(serverUrl, subject());
    const grant = refusal && (await vault?.find(serverUrl, principal));
    signIn = signInFrom({ refusal, grantedAt: grant?.receivedAt }, clock());
    return signIn;
  }

  const needed = ({ state, refusal }: SignInProgress): HeddleError | undefined =>
    state === 'needed' && refusal ? toAuthNeeded(server, refusal, kind.fix) : undefined;

  /** Writes a refusal, once for all requests that are refused together. */
  async function remember(error: HeddleError): Promise<HeddleError> {
    const refused = await refusalOf(error);
    const before = signIn;
    signIn = reduceSignIn(signIn, { kind: 'refused', ...refused });
    if (signIn !== before && signIn.refusal) {
      const { refusal } = signIn;
      // Without a store that can be written, the next request asks the server again.
      remembering = signIns.refuse({ serverUrl, principal: subject(), ...refusal }).catch(() => {});
    }
    await remembering;
    return error;
  }

  async function requireNoRefusal(): Promise<void> {
    const error = needed(await refresh());
    if (error) throw error;
  }

  /** Rethrows a failure, and remembers it if a sign-in is needed. The 401 of one call is not remembered. */
  async function rememberNeeded(thrown: unknown, isOfCall = false): Promise<never> {
    if (!HeddleError.is(thrown) || thrown.code !== 'AUTH_NEEDED') throw thrown;
    if (!isOfCall) throw await remember(thrown);
    throw refusalIn(thrown).isStepUp ? await rememberScopes(thrown) : ofCall(thrown);
  }

  /** Remembers a need that shows before the request, such as a refresh token that was refused. */
  function kindHeaders(request: AuthorizedRequest): ReturnType<Credential['headersFor']> {
    const headers = kind.headersFor(request);
    return headers instanceof Promise ? headers.catch((thrown) => rememberNeeded(thrown)) : headers;
  }

  return {
    async prepare(signal) {
      await kind.prepare?.(signal);
      await requireNoRefusal();
    },
    refusal: async () => needed(await refresh()),
    version: async () => `${subject()} ${(await vault?.find(serverUrl, principal))?.receivedAt}`,
    headersFor: (request) =>
      signIn.state === 'needed' ? requireNoRefusal().then(() => kindHeaders(request)) : kindHeaders(request),
    async onRefused(refusal, signal) {
      const explain = (thrown: unknown) => rememberNeeded(thrown, refusal.isOfCall);
      if ((await kind.onRefused(refusal, signal).catch(explain)) && !refusal.isRetry) return true;
      const error = refusedError(server, refusal, kind.fix);
      return error ? explain(error) : false;
    },
    onAccepted: (headers, url) => kind.onAccepted?.(headers, url),
  };
}

/** Returns the refusals in errors, and writes those of calls. */
function refusalsOf({ serverUrl, principal, vault, signIns, clock }: RememberingOptions, subject: () => string) {
  /** Returns the refusal in an error. It is newer than the refused tokens, which do not end it. */
  async function refusalOf(error: HeddleError): Promise<SignInRefusal> {
    const grant = await vault?.find(serverUrl, principal);
    const at = Math.max(clock(), grant ? grant.receivedAt + 1 : 0);
    return { ...refusalIn(error), at, until: at + REFUSED_MS };
  }

  /** Writes the scopes that a call lacks, beside those of other calls, for the next sign-in. Other calls go on. */
  async function addScopes(error: HeddleError): Promise<HeddleError> {
    const before = await signIns.refusal(serverUrl, subject());
    const refusal = await refusalOf(error);
    const known = before?.isOfCall ? before.scopes : [];
    const remembered = refusal.scopes.length > 0 && refusal.scopes.every((scope) => known.includes(scope));
    const scopes = unionOf(known, refusal.scopes).slice(-MAX_SCOPES);
    const next = { serverUrl, principal: subject(), ...refusal, scopes, isOfCall: true };
    // Without a store that can be written, the user names the scopes.
    if (!before || before.isOfCall) await signIns.refuse(next).catch(() => {});
    return ofCall(error, remembered ? { remembered } : {});
  }

  let added: Promise<unknown> = Promise.resolve();
  /** Adds the scopes of calls one after the other: parallel calls must not overwrite each other's. */
  function rememberScopes(error: HeddleError): Promise<HeddleError> {
    const next = added.then(() => addScopes(error));
    added = next.catch(() => {});
    return next;
  }

  return { refusalOf, rememberScopes };
}

/** Uses a credential without a store: no refusal is remembered. */
export const forgettingCredential = (kind: CredentialKind): PreparedCredential => ({
  ...kind,
  prepare: async (signal) => kind.prepare?.(signal),
  refusal: async () => undefined,
  version: async () => '',
});

/** Marks an error that concerns one call alone. */
function ofCall({ message, fix, details }: HeddleError, marks: JsonObject = {}): UpstreamError {
  const all = { ...details, ...marks, isOfCall: true };
  return new UpstreamError('AUTH_NEEDED', message, { delivered: 'no', fix, details: all });
}

function toAuthNeeded(server: string, { reason, scopes, metadataUrl }: SignInRefusal, fix: string | undefined) {
  return withFix(authNeeded({ server, reason, scopes, metadataUrl, details: { remembered: true } }), fix);
}

/** Returns the error with another fix, for a credential that no sign-in replaces. */
function withFix(error: UpstreamError, fix: string | undefined): UpstreamError {
  const { message, details } = error;
  return fix === undefined ? error : new UpstreamError('AUTH_NEEDED', message, { delivered: 'no', details, fix });
}

function refusalIn({ message, details }: HeddleError): Omit<SignInRefusal, 'at' | 'until'> {
  const { scopes, metadataUrl, oauthError, isDpop } = details;
  return {
    reason: message,
    scopes: Array.isArray(scopes) ? scopes.map(String) : [],
    ...(typeof metadataUrl === 'string' && { metadataUrl }),
    ...(oauthError === 'insufficient_scope' && { isStepUp: true }),
    ...(isDpop === true && { isDpop }),
  };
}

/** Returns the error for a refusal that the credential cannot help; undefined for a 403 that names no missing scope. */
function refusedError(server: string, refusal: Refusal, fix: string | undefined): UpstreamError | undefined {
  const { status, sent } = refusal;
  const { error, scopes, metadataUrl, isDpop } = challengeFacts(refusal);
  const isScope = error === 'insufficient_scope';
  if (status === 403 && !isScope) return undefined;
  const named = isScope && scopes.length > 0 ? `: ${scopes.slice(0, 10).join(' ')}` : '';
  const has = Object.keys(sent).length > 0 || fix !== undefined;
  const wants = isScope ? `requires more scopes${named}` : has ? 'refused the credential' : 'wants a credential';
  const reason = `${server} ${wants} (HTTP ${status}).`;
  const details = { status, ...(isScope && { oauthError: error }), ...(isDpop && { isDpop }) };
  return withFix(authNeeded({ server, reason, scopes, metadataUrl, details }), fix);
}
