import { createHash, randomBytes } from 'node:crypto';
import type { JsonObject } from '../../../core/call.ts';
import { HeddleError } from '../../../core/errors.ts';
import type { BegunSignIn, OpenRedirect } from '../../../core/records/sign-in.ts';
import { cutText } from '../../../core/text/cut-text.ts';
import type { PendingSignIn, RememberedRefusal } from '../../../store/sign-in-book.ts';
import { challengedScopes, unionOf } from '../auth-needed.ts';
import type { AuthorizationServer, AuthParts, Discovered, OAuthClient, ProtectedServer } from '../auth-parts.ts';
import { authRefused } from '../auth-refused.ts';
import { isScope } from '../challenge.ts';
import { chooseClient, markRegistration, SIGN_IN_TTL_MS } from '../client.ts';
import type { Challenge } from '../credential.ts';
import { discover } from '../discovery.ts';

/** A protected server and the owner of the tokens for it. */
export interface SignInTarget extends ProtectedServer {
  readonly principal: string;
}

export interface BeginRequest {
  readonly target: SignInTarget;
  /** The redirect URI, or the function that opens a listener for it. */
  readonly redirect: string | OpenRedirect;
  /** The challenge of the refusal. The remembered refusal of the server serves if it is absent. */
  readonly challenge?: Challenge | undefined;
  /** The scopes to request, instead of those of the configuration, the challenge or the metadata. */
  readonly scopes?: readonly string[];
  /** Scopes to request besides those, and besides the scopes of the tokens in the vault. */
  readonly moreScopes?: readonly string[];
  /** The result of discovery, if the caller has it. */
  readonly discovered?: Discovered;
  /** Further parameters of the authorization request, such as `nonce`. */
  readonly parameters?: Readonly<Record<string, string>>;
  /** Further facts for the record, such as the hash of the browser's cookie. */
  readonly extra?: JsonObject;
  readonly signal?: AbortSignal | undefined;
}

/** The facts of the authorization server that the end of a sign-in needs. They are those of its beginning. */
export interface RecordedServer {
  readonly as: AuthorizationServer;
  readonly resourceParameter?: string;
  /** The address of the protected-resource metadata. */
  readonly metadataUrl?: string;
  readonly isDpop: boolean;
}

const STATE_BYTES = 32;
const VERIFIER_BYTES = 32;
const OFFLINE_ACCESS = 'offline_access';

/**
 * Begins a sign-in: finds the authorization server and the client, and stores one record for 10 minutes. Returns the
 * authorization request for the browser.
 */
export async function beginSignIn(parts: AuthParts, wanted: BeginRequest): Promise<BegunSignIn> {
  requireScopes(wanted);
  const request = wanted.target.oauth?.xaa ? await atProvider(parts, wanted) : wanted;
  const { target, challenge, redirect, signal } = request;
  const { server, serverUrl, principal } = target;
  const refusal = await parts.signIns.refusal(serverUrl, principal);
  const discovered =
    request.discovered ?? (await discover(parts, { ...target, challenge, metadataUrl: refusal?.metadataUrl, signal }));
  const { as, resource, resourceParameter, metadataUrl } = discovered;
  const endpoint = authorizationEndpoint(server, as);
  const scopes = await withMore(parts, request, scopesOf(request, discovered, refusal));
  const { client, redirectUri } = await chooseClient(parts, { ...target, as, redirect, signal });
  const earlier = await parts.signIns.pending(serverUrl, principal);
  const isDpop = discovered.requiresDpop || (challenge ? challenge.scheme === 'dpop' : refusal?.isDpop === true);
  const recorded: RecordedServer = {
    ...{ as: trimmed(as), isDpop },
    ...(resourceParameter !== undefined && { resourceParameter }),
    ...(metadataUrl !== undefined && { metadataUrl }),
  };
  const signIn: PendingSignIn = {
    ...{ state: random(parts, STATE_BYTES), verifier: random(parts, VERIFIER_BYTES) },
    ...{ server, serverUrl, principal, issuer: as.issuer, resource, redirectUri, clientId: client.clientId, scopes },
    expiresAt: parts.clock() + SIGN_IN_TTL_MS,
    extra: { ...request.extra, authorizationServer: recorded as unknown as JsonObject },
  };
  await parts.signIns.begin(signIn);
  const url = authorizationUrl(endpoint, signIn, { client, resourceParameter, parameters: request.parameters });
  const { state, issuer, expiresAt } = signIn;
  return { server, url, state, redirectUri, issuer, scopes, expiresAt, earlier: earlier.length };
}

/** Throws USAGE_INVALID for text that is no scope, and for a server whose scopes no sign-in requests. */
function requireScopes({ target: { server, oauth }, moreScopes: scopes = [] }: BeginRequest): void {
  if (scopes.length > 0 && oauth?.xaa) {
    throw new HeddleError('USAGE_INVALID', `The sign-in for ${server} is at the identity provider, without scopes.`, {
      fix: `Write the scopes in \`oauth.scopes\` of ${server}.`,
    });
  }
  const wrong = scopes.find((scope) => !isScope(scope));
  if (wrong === undefined) return;
  throw new HeddleError('USAGE_INVALID', `${JSON.stringify(cutText(wrong, 100))} is not a scope.`, {
    fix: 'Give each scope by itself: `--scope read --scope write`.',
  });
}

/** Adds scopes to those of a sign-in. The new tokens replace the stored ones, so they need the same scopes. */
async function withMore(
  { vault }: AuthParts,
  { target, moreScopes = [] }: BeginRequest,
  scopes: readonly string[],
): Promise<readonly string[]> {
  if (moreScopes.length === 0) return scopes;
  const grant = await vault.find(target.serverUrl, target.principal).catch(() => undefined);
  return unionOf(unionOf(scopes, grant?.scopes ?? []), moreScopes);
}

/** Turns the sign-in of a server with `oauth.xaa` into that at its identity provider. */
async function atProvider(parts: AuthParts, request: BeginRequest): Promise<BeginRequest> {
  const { providerSignIn } = await import('../grants/provider-sign-in.ts');
  const prepared = await providerSignIn(parts, request);
  return { ...request, ...prepared, extra: { ...request.extra, ...prepared.extra } };
}

/**
 * Removes the record of a sign-in, unless it belongs to another server or principal. Its registration is doubtful: the
 * browser may have shown that it is unknown.
 */
export async function cancelSignIn(parts: AuthParts, target: SignInTarget, state: string): Promise<void> {
  const atProvider = target.oauth?.xaa ? await import('../grants/provider-sign-in.ts') : undefined;
  const signIn = await parts.signIns.take(state, atProvider?.providerTarget(parts, target) ?? target);
  if (signIn) await markRegistration(parts, signIn, 0);
}

const random = ({ random = randomBytes }: AuthParts, bytes: number): string =>
  Buffer.from(random(bytes)).toString('base64url');

/** Returns the authorization endpoint. PKCE with S256 has to be promised in the metadata: it may be ignored otherwise. */
export function authorizationEndpoint(server: string, { metadata, document: { url } }: AuthorizationServer): string {
  const { authorization_endpoint: endpoint, code_challenge_methods_supported: methods } = metadata;
  if (typeof endpoint !== 'string') throw authRefused({ server, url, defect: 'names no authorization_endpoint' });
  if (typeof metadata.token_endpoint !== 'string')
    throw authRefused({ server, url, defect: 'names no token_endpoint' });
  if (Array.isArray(methods) && methods.includes('S256')) return endpoint;
  throw authRefused({
    ...{ server, url },
    defect: 'does not promise PKCE with S256, so a stolen code could be used by others',
    fix: 'Have the authorization server support S256 and name it in `code_challenge_methods_supported`.',
  });
}

/** Chooses the scopes: configuration, else challenge, else all of the resource, else none. */
export function scopesOf(
  { target: { oauth }, scopes, challenge }: BeginRequest,
  { scopesSupported = [], as }: Discovered,
  refusal: RememberedRefusal | undefined,
): readonly string[] {
  if (scopes) return scopes;
  if (refusal?.isStepUp) return unionOf(oauth?.scopes ?? [], refusal.scopes);
  if (oauth?.scopes) return oauth.scopes;
  const challenged = challenge ? challengedScopes(challenge) : (refusal?.scopes ?? []);
  const chosen = challenged.length > 0 ? challenged : scopesSupported;
  const offered = as.metadata.scopes_supported;
  const hasOffline = Array.isArray(offered) && offered.includes(OFFLINE_ACCESS);
  return chosen.length > 0 && hasOffline ? unionOf(chosen, [OFFLINE_ACCESS]) : chosen;
}

interface UrlParts {
  readonly client: OAuthClient;
  readonly resourceParameter: string | undefined;
  readonly parameters: Readonly<Record<string, string>> | undefined;
}

function authorizationUrl(endpoint: string, signIn: PendingSignIn, parts: UrlParts): string {
  const { state, verifier, redirectUri, scopes } = signIn;
  const { client, resourceParameter, parameters } = parts;
  const url = new URL(endpoint);
  const query: Readonly<Record<string, string | undefined>> = {
    ...parameters,
    response_type: 'code',
    client_id: client.clientId,
    redirect_uri: redirectUri,
    state,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    scope: scopes.length > 0 ? scopes.join(' ') : undefined,
    resource: resourceParameter,
    // OpenID Connect ignores offline_access without it.
    prompt: scopes.includes(OFFLINE_ACCESS) ? 'consent' : parameters?.prompt,
  };
  for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, value);
  return url.href;
}

const RECORDED_METADATA = [
  ...['issuer', 'token_endpoint', 'jwks_uri', 'authorization_response_iss_parameter_supported'],
  ...['token_endpoint_auth_methods_supported', 'token_endpoint_auth_signing_alg_values_supported'],
  ...['id_token_signing_alg_values_supported', 'dpop_signing_alg_values_supported'],
];

/** Returns the authorization server with the metadata that the record needs. */
function trimmed(as: AuthorizationServer): AuthorizationServer {
  const entries = Object.entries(as.metadata).filter(([name]) => RECORDED_METADATA.includes(name));
  return { ...as, metadata: Object.fromEntries(entries) };
}
