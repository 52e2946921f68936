import { HeddleError, UpstreamError } from '../../core/errors.ts';
import type { Clock } from '../../core/time.ts';
import { type RememberedRefusal, refusedPrincipal, type SignInBook } from '../../store/sign-in-book.ts';
import type { TokenVault } from '../../store/token-vault.ts';
import { authNeeded } from './auth-needed.ts';
import { challengeFacts } from './challenge.ts';
import type { AuthorizedRequest, Credential, Refusal } from './credential.ts';
import { NOT_SIGNED_IN, reduceSignIn, type SignInProgress, type SignInRefusal } from './sign-in-state.ts';

/** A credential that knows whether a sign-in is needed, without a request to the server. */
export interface PreparedCredential extends Credential {
  /** Gets what the first request needs. Throws AUTH_NEEDED while a refusal of the server is remembered. */
  prepare(signal: AbortSignal): Promise<void>;
  /** Returns AUTH_NEEDED while a refusal of the server is remembered and no newer credential has come. */
  refusal(): Promise<HeddleError | undefined>;
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
  let signIn: SignInProgress = NOT_SIGNED_IN;
  let remembering: Promise<void> | undefined;

  /** Reads refusal and tokens from the store: another process may have written them. */
  async function refresh(): Promise<SignInProgress> {
    await remembering;
    const stored = await signIns.refusal(serverUrl, subject());
    if (!stored) {
      signIn = reduceSignIn(signIn, { kind: 'forgotten', at: clock() });
      return signIn;
    }
    signIn = refusedBefore(stored);
    const grant = await vault?.find(serverUrl, principal);
    if (grant) signIn = reduceSignIn(signIn, { kind: 'granted', at: grant.receivedAt });
    signIn = reduceSignIn(signIn, { kind: 'passed', at: clock() });
    return signIn;
  }

  const needed = ({ state, refusal }: SignInProgress): HeddleError | undefined =>
    state === 'needed' && refusal ? toAuthNeeded(server, refusal, kind.fix) : undefined;

  /** Writes a refusal, once for all requests that are refused together. */
  async function remember(error: HeddleError): Promise<HeddleError> {
    const grant = await vault?.find(serverUrl, principal);
    const at = Math.max(clock(), grant ? grant.receivedAt + 1 : 0);
    const before = signIn;
    signIn = reduceSignIn(signIn, { kind: 'refused', ...refusalIn(error), at, until: at + REFUSED_MS });
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

  async function rememberNeeded(thrown: unknown): Promise<never> {
    if (HeddleError.is(thrown) && thrown.code === 'AUTH_NEEDED') await remember(thrown);
    throw thrown;
  }

  /** Remembers a need that shows before the request, such as a refresh token that was refused. */
  function kindHeaders(request: AuthorizedRequest): ReturnType<Credential['headersFor']> {
    const headers = kind.headersFor(request);
    return headers instanceof Promise ? headers.catch(rememberNeeded) : headers;
  }

  return {
    async prepare(signal) {
      await kind.prepare?.(signal);
      await requireNoRefusal();
    },
    refusal: async () => needed(await refresh()),
    headersFor: (request) =>
      signIn.state === 'needed' ? requireNoRefusal().then(() => kindHeaders(request)) : kindHeaders(request),
    async onRefused(refusal, signal) {
      if ((await kind.onRefused(refusal, signal).catch(rememberNeeded)) && !refusal.isRetry) return true;
      const error = refusedError(server, refusal, kind.fix);
      if (!error) return false;
      throw await remember(error);
    },
    onAccepted: (headers, url) => kind.onAccepted?.(headers, url),
  };
}

function refusedBefore({ at, until, reason, scopes, metadataUrl }: RememberedRefusal): SignInProgress {
  const refused = { at, until, reason, scopes, ...(metadataUrl !== undefined && { metadataUrl }) };
  return reduceSignIn(NOT_SIGNED_IN, { kind: 'refused', ...refused });
}

/** Uses a credential without a store: no refusal is remembered. */
export const forgettingCredential = (kind: CredentialKind): PreparedCredential => ({
  ...kind,
  prepare: async (signal) => kind.prepare?.(signal),
  refusal: async () => undefined,
});

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
