import { HeddleError } from '../../../core/errors.ts';
import type { SignIn } from '../../../core/records/sign-in.ts';
import { quoteCommand } from '../../../core/text/visible-text.ts';
import type { PendingSignIn } from '../../../store/sign-in-book.ts';
import type { Grant } from '../../../store/token-vault.ts';
import type { AuthParts, TokenResponse } from '../auth-parts.ts';
import { authRefused, quoteRemote } from '../auth-refused.ts';
import { clientOfGrant, markRegistration } from '../client.ts';
import { dpopSignerFor } from '../dpop.ts';
import { requestToken } from '../oauth-protocol.ts';
import { withTokenLease } from '../token-lease.ts';
import type { RecordedServer, SignInTarget } from './begin-sign-in.ts';

export interface FinishRequest {
  /** The server and the owner of the tokens. A redirect of another sign-in is rejected and not used up. */
  readonly target: SignInTarget;
  /** The query of the redirect, or the whole URL. */
  readonly query: string;
  /** The `state` of the sign-in that has to end. A redirect of another one is rejected and not used up. */
  readonly state?: string | undefined;
  /** Checks the tokens before they are stored, for example the signature of an ID token. */
  verify?(tokens: TokenResponse, signIn: PendingSignIn): Promise<void>;
  readonly wantsIdToken?: boolean;
  readonly signal?: AbortSignal | undefined;
}

const MAX_QUERY_CHARS = 32_768;
/** Errors of a client that the authorization server does not accept. */
const CLIENT_ERRORS = new Set(['invalid_client', 'unauthorized_client']);

/**
 * Ends a sign-in with the query of its redirect: checks `state`, then `iss`, then the error, and exchanges the code for
 * tokens, which the vault has before this returns.
 */
export async function finishSignIn(parts: AuthParts, request: FinishRequest): Promise<SignIn> {
  const { target: entry } = request;
  const query = parseQuery(request);
  const atProvider = entry.oauth?.xaa ? await import('../grants/provider-sign-in.ts') : undefined;
  const target = atProvider?.providerTarget(parts, entry) ?? entry;
  const signIn = await takeSignIn(parts, { ...request, target }, query);
  const recorded = signIn.extra?.authorizationServer as unknown as RecordedServer;
  checkIssuer(signIn, recorded, query.get('iss'));
  const error = query.get('error');
  await markRegistration(parts, signIn, error !== null && CLIENT_ERRORS.has(error) ? 0 : undefined);
  if (error !== null) throw authorizationError(signIn, error, query.get('error_description'));
  const code = query.get('code');
  if (!code) throw refused(signIn, 'returned neither a code nor an error');
  const grant = await withTokenLease<Grant>({
    ...{ leases: parts.leases, serverUrl: signIn.serverUrl, principal: signIn.principal },
    ...(request.signal && { signal: request.signal }),
    work: async ({ epoch }, signal) => {
      const verify = atProvider && ((tokens: TokenResponse) => atProvider.verifyProviderTokens(parts, tokens, signIn));
      const more = verify && { verify, wantsIdToken: true };
      const exchanged = await exchangeCode(parts, { ...request, ...more, signal }, { signIn, target, recorded, code });
      if (await parts.vault.put(exchanged, epoch)) return exchanged;
      throw refused(signIn, 'took too long, and another process has stored newer tokens');
    },
  });
  for (const url of new Set([signIn.serverUrl, entry.serverUrl])) await parts.signIns.forgive(url, signIn.principal);
  return signedIn(signIn.server, grant);
}

function signedIn(server: string, grant: Grant): SignIn {
  const { serverUrl, principal, issuer, scopes, expiresAt, refreshToken } = grant;
  return {
    ...{ server, url: serverUrl, principal, state: 'signed-in', issuer, scopes },
    ...(expiresAt !== undefined && { expiresAt }),
    isRenewable: refreshToken !== undefined,
  };
}

/** The parameters that a redirect has at most once. */
const SINGLE = ['state', 'iss', 'code', 'error', 'error_description'];

/** Reads a pasted or received redirect. Repeated parameters are rejected: readers differ in which one they take. */
function parseQuery({ query, target: { server } }: FinishRequest): URLSearchParams {
  const text = query.trim();
  const start = text.indexOf('?') + 1;
  const parameters = new URLSearchParams(text.length > MAX_QUERY_CHARS ? '' : text.slice(start).replace(/#.*$/s, ''));
  if (SINGLE.some((name) => parameters.getAll(name).length > 1)) {
    throw rejectedRedirect(server, 'repeats a parameter');
  }
  return parameters;
}

/** Uses up the record of the `state`, which has to be of this server and caller. */
async function takeSignIn(
  { signIns, clock }: AuthParts,
  { target, state: expected }: FinishRequest,
  query: URLSearchParams,
): Promise<PendingSignIn> {
  const { server } = target;
  const state = query.get('state');
  if (!state) throw rejectedRedirect(server, 'has no `state`');
  if (expected !== undefined && state !== expected) throw rejectedRedirect(server, 'belongs to another sign-in');
  const signIn = await signIns.take(state, target);
  if (signIn && signIn.expiresAt > clock()) return signIn;
  const defect = 'it was used, has expired, never began, or is of another server or caller';
  throw rejectedRedirect(server, `belongs to no sign-in in progress here: ${defect}`);
}

function rejectedRedirect(server: string, defect: string): HeddleError {
  return new HeddleError('AUTH_REFUSED', `Signing in to "${server}" failed: the redirect ${defect}.`, {
    fix: `Run \`${quoteCommand(['heddle', 'auth', 'login', server])}\` again, and use its own redirect.`,
    details: { server },
  });
}

/** Compares `iss` as text (RFC 9207). Nothing else of a redirect from another server is read or shown. */
function checkIssuer(signIn: PendingSignIn, { as }: RecordedServer, iss: string | null): void {
  if (iss === null && as.metadata.authorization_response_iss_parameter_supported !== true) return;
  if (iss === null) throw refused(signIn, 'promises `iss` in its redirect, and the redirect has none');
  if (iss !== signIn.issuer) throw refused(signIn, 'was asked, and the redirect comes from another issuer');
}

function authorizationError(signIn: PendingSignIn, error: string, description: string | null): HeddleError {
  const code = quoteRemote(error, 100);
  const reason = description ? `: ${quoteRemote(description)}` : '';
  const { server, issuer } = signIn;
  return authRefused({ server, url: issuer, defect: `refuses with ${code}${reason}`, oauthError: code });
}

const refused = ({ server, issuer }: PendingSignIn, defect: string) => authRefused({ server, url: issuer, defect });

interface Exchanged {
  readonly signIn: PendingSignIn;
  readonly target: SignInTarget;
  readonly recorded: RecordedServer;
  readonly code: string;
}

/** Exchanges the code for tokens at the authorization server of the record. */
async function exchangeCode(
  parts: AuthParts,
  { wantsIdToken = false, verify, signal }: FinishRequest,
  { signIn, target, recorded, code }: Exchanged,
): Promise<Grant> {
  const { server, serverUrl, principal, issuer, resource, redirectUri, verifier, clientId } = signIn;
  const { as, resourceParameter, metadataUrl, isDpop } = recorded;
  const client = await clientOfGrant(parts, { as, oauth: target.oauth, clientId });
  if (!client) throw refused(signIn, 'knows another client than the one that the entry has now');
  const dpop = isDpop ? await dpopSignerFor(parts, as, principal) : undefined;
  const parameters = {
    ...{ grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier },
    ...(resourceParameter !== undefined && { resource: resourceParameter }),
  };
  const receivedAt = parts.clock();
  const tokens = await requestToken(parts, { server, as, client, parameters, dpop, wantsIdToken, signal });
  await verify?.(tokens, signIn);
  if (tokens.tokenType === 'N_A') throw refused(signIn, 'returned no access token');
  const { accessToken, tokenType, expiresAt, refreshToken, idToken } = tokens;
  return {
    ...{ issuer, resource, principal, serverUrl, accessToken, tokenType, receivedAt, clientId },
    scopes: tokens.scopes ?? signIn.scopes,
    ...(expiresAt !== undefined && { expiresAt }),
    ...(refreshToken !== undefined && { refreshToken }),
    ...(idToken !== undefined && { idToken }),
    ...(metadataUrl !== undefined && { metadataUrl }),
    ...(tokenType === 'DPoP' && dpop && { dpopKey: dpop.privateKey }),
  };
}
