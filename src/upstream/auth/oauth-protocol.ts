import type * as Oauth from 'oauth4webapi';
import type { JsonObject } from '../../core/call.ts';
import { isObject, parseJson } from '../../core/json.ts';
import type { GuardedResponse } from '../../egress/guarded-fetch.ts';
import type { AuthorizationServer, AuthParts, OAuthClient, TokenResponse } from './auth-parts.ts';
import { authFetch, authRefused, quoteRemote } from './auth-refused.ts';
import { clientAssertion } from './client-assertion.ts';
import { basicCredentials } from './client-authentication.ts';
import type { DpopSigner } from './dpop.ts';

/** The time limit of a request with a body. */
const REQUEST_TIMEOUT_MS = 10_000;
const MAX_RESPONSE_BYTES = 256 * 1024;
/** The longest lifetime that is believed. */
const MAX_LIFETIME_MS = 365 * 86_400_000;
/** The characters of tokens (RFC 6749, appendix A), without the space. */
const TOKEN = /^[\x21-\x7e]{1,65536}$/;
/** The characters of OAuth error codes. */
const ERROR_CODE = /^[\x20\x21\x23-\x5b\x5d-\x7e]{1,100}$/;
/** The parameters whose values never appear in a message, even if a server repeats them. */
const SECRET_PARAMETERS = ['code', 'code_verifier', 'refresh_token', 'assertion', 'subject_token', 'actor_token'];

type ProtocolParts = Pick<AuthParts, 'fetch' | 'clock'>;

interface EndpointRequest {
  /** The name of the entry, for messages. */
  readonly server: string;
  readonly as: AuthorizationServer;
  readonly signal?: AbortSignal | undefined;
}

export interface TokenRequest extends EndpointRequest {
  readonly client: OAuthClient;
  /** The form of the request, `grant_type` included. */
  readonly parameters: Readonly<Record<string, string>>;
  /** Signs a DPoP proof. The authorization server then binds the tokens to its key. */
  readonly dpop?: DpopSigner | undefined;
  /** True keeps the ID token of the response and checks its claims. */
  readonly wantsIdToken?: boolean;
}

/**
 * Sends a token request. Throws AUTH_REFUSED with the OAuth code in `details.oauthError`, UPSTREAM_UNREACHABLE for
 * network failures, 429 and 5xx, and UPSTREAM_TIMEOUT. A missing DPoP nonce costs one more request.
 */
export async function requestToken(parts: ProtocolParts, request: TokenRequest): Promise<TokenResponse> {
  const oauth = await import('oauth4webapi');
  const { server, as, client, parameters, dpop, wantsIdToken = false } = request;
  const url = endpointOf(request, 'token_endpoint');
  const secrets = secretsOf(client, parameters);
  const oauthClient = protocolClient(oauth, parts, client);
  const authenticate = clientAuthentication(oauth, parts, { server, client, as });
  const { grant_type = '', ...rest } = parameters;

  const send = async () => {
    const headers: Record<string, string> = dpop ? { dpop: dpop.proofFor({ method: 'POST', url: new URL(url) }) } : {};
    const { options, received } = exchange(oauth, parts, { ...request, secrets });
    await oauth.genericTokenEndpointRequest(as.metadata as Metadata, oauthClient, authenticate, grant_type, rest, {
      ...options,
      headers,
    });
    const response = received();
    const isNewNonce = dpop?.takeNonce(new URL(url), response.headers['dpop-nonce']) ?? false;
    return { response, isNewNonce };
  };

  let { response, isNewNonce } = await send();
  if (isNewNonce && isObject(response.json) && response.json.error === 'use_dpop_nonce') ({ response } = await send());
  const body = bodyOf({ server, url, secrets }, response, [200]);
  const { id_token, ...withoutIdToken } = body;
  const conform = await conformResponse({ server, url }, () =>
    oauth.processGenericTokenEndpointResponse(
      as.metadata as Metadata,
      oauthClient,
      Response.json(wantsIdToken ? body : withoutIdToken),
      // An ID-JAG is no access token: its type is N_A (RFC 8693).
      parameters.requested_token_type === undefined ? {} : { recognizedTokenTypes: { n_a: () => {} } },
    ),
  );
  return tokenResponse({ server, url }, conform, { now: parts.clock(), hasDpop: dpop !== undefined });
}

/** Registers a client (RFC 7591). Returns the whole response. */
export async function registerClient(
  parts: ProtocolParts,
  request: EndpointRequest & { readonly metadata: JsonObject },
): Promise<JsonObject & { readonly client_id: string }> {
  const oauth = await import('oauth4webapi');
  const { server, as, metadata } = request;
  const url = endpointOf(request, 'registration_endpoint');
  const { options, received } = exchange(oauth, parts, { ...request, secrets: [] });
  await oauth.dynamicClientRegistrationRequest(as.metadata as Metadata, metadata as Partial<Oauth.Client>, options);
  const body = bodyOf({ server, url, secrets: [] }, received(), [200, 201]);
  // Servers leave the expiry of a secret out, although it is required.
  const complete = 'client_secret' in body ? { client_secret_expires_at: 0, ...body } : body;
  const conform = await conformResponse({ server, url }, () =>
    oauth.processDynamicClientRegistrationResponse(Response.json(complete, { status: 201 })),
  );
  return { ...(conform as JsonObject), client_id: conform.client_id };
}

/** Revokes a token (RFC 7009). Returns false if the authorization server has no revocation endpoint. */
export async function revokeToken(
  parts: ProtocolParts,
  request: EndpointRequest & { readonly client: OAuthClient; readonly token: string; readonly hint: string },
): Promise<boolean> {
  const { server, as, client, token, hint } = request;
  if (as.metadata.revocation_endpoint === undefined) return false;
  const oauth = await import('oauth4webapi');
  const url = endpointOf(request, 'revocation_endpoint');
  const secrets = [token, ...secretsOf(client, {})];
  const authenticate = clientAuthentication(oauth, parts, { server, client, as });
  const { options, received } = exchange(oauth, parts, { ...request, secrets });
  await oauth.revocationRequest(as.metadata as Metadata, protocolClient(oauth, parts, client), authenticate, token, {
    ...options,
    additionalParameters: { token_type_hint: hint },
  });
  const response = received();
  if (response.status !== 200) bodyOf({ server, url, secrets }, response, []);
  return true;
}

type Metadata = Oauth.AuthorizationServer;

/** Returns the authentication of a client at token and revocation endpoints. */
function clientAuthentication(
  oauth: typeof Oauth,
  { clock }: ProtocolParts,
  { server, client, as }: Pick<TokenRequest, 'server' | 'client' | 'as'>,
): Oauth.ClientAuth {
  const { authMethod, clientId, clientSecret = '', privateKey = '' } = client;
  switch (authMethod) {
    case 'client_secret_basic':
      return (_as, _client, _body, headers) => headers.set('authorization', basicCredentials(client));
    case 'client_secret_post':
      return oauth.ClientSecretPost(clientSecret);
    case 'private_key_jwt':
      return async (_as, _client, body) => {
        const named = as.metadata.token_endpoint_auth_signing_alg_values_supported;
        const algorithms = Array.isArray(named) ? named.map(String) : undefined;
        const options = { server, privateKey, clientId, issuer: as.issuer, algorithms, clock };
        for (const [name, value] of Object.entries(await clientAssertion(options))) body.set(name, value);
        body.set('client_id', clientId);
      };
    default:
      return oauth.None();
  }
}

interface ReceivedResponse extends GuardedResponse {
  /** The parsed body; undefined if it is no JSON. */
  readonly json: unknown;
}

/**
 * Returns the options of one request of `oauth4webapi`, and its response. The response is read here: the library loses
 * the code of a 200 with `error` inside, and that of a 401 with a challenge.
 */
function exchange(
  oauth: typeof Oauth,
  parts: ProtocolParts,
  { server, as, signal }: EndpointRequest & { readonly secrets: readonly string[] },
) {
  let response: ReceivedResponse | undefined;
  const { written, document } = as;
  const fetchOnce = async (url: string, { headers, body }: Oauth.CustomFetchOptions<'POST', unknown>) => {
    const answer = await authFetch(parts, {
      ...{ server, url, headers, source: { written, document }, method: 'POST', body: String(body) },
      ...{ timeoutMs: REQUEST_TIMEOUT_MS, maxBytes: MAX_RESPONSE_BYTES, ...(signal && { signal }) },
    });
    response = { ...answer, json: parsed(answer.body) };
    return new Response();
  };
  return {
    // `guardedFetch` decides whether plain http is allowed: on loopback only.
    options: { [oauth.allowInsecureRequests]: true, [oauth.customFetch]: fetchOnce },
    received: (): ReceivedResponse => {
      if (!response) throw new Error('no request was sent');
      return response;
    },
  };
}

function parsed(body: Buffer): unknown {
  try {
    return parseJson(body.toString('utf8'), { keys: 'any' });
  } catch {
    return undefined;
  }
}

interface Endpoint {
  readonly server: string;
  readonly url: string;
}

/** Returns the body of a response. Throws AUTH_REFUSED for an OAuth error, in whichever status, and other statuses. */
function bodyOf(
  { server, url, secrets }: Endpoint & { readonly secrets: readonly string[] },
  { status, json }: ReceivedResponse,
  accepted: readonly number[],
): JsonObject {
  if (isObject(json) && typeof json.error === 'string') {
    const hidden = (text: string) => quoteRemote(secrets.reduce((left, secret) => left.replaceAll(secret, '…'), text));
    const code = ERROR_CODE.test(json.error) ? hidden(json.error) : 'an error without a valid code';
    const description = typeof json.error_description === 'string' ? `: ${hidden(json.error_description)}` : '';
    throw authRefused({ server, url, defect: `refuses with ${code}${description}`, oauthError: code });
  }
  if (!accepted.includes(status)) throw authRefused({ server, url, defect: `answers with status ${status}` });
  if (!isObject(json)) throw authRefused({ server, url, defect: 'answers with something that is not a JSON object' });
  return json;
}

/** Runs a check of `oauth4webapi`. Its errors hold the whole response, tokens included, so only their text is kept. */
async function conformResponse<T>({ server, url }: Endpoint, check: () => Promise<T>): Promise<T> {
  try {
    return await check();
  } catch (thrown) {
    const reason = thrown instanceof Error ? quoteRemote(thrown.message) : 'it cannot be read';
    throw authRefused({ server, url, defect: `answers with an invalid response: ${reason}` });
  }
}

function tokenResponse(
  { server, url }: Endpoint,
  body: Oauth.TokenEndpointResponse,
  { now, hasDpop }: { readonly now: number; readonly hasDpop: boolean },
): TokenResponse {
  const { access_token, token_type, expires_in, refresh_token, scope, id_token, issued_token_type } = body;
  const tokenType = ({ bearer: 'Bearer', dpop: 'DPoP', n_a: 'N_A' } as const)[token_type as string];
  if (!tokenType || (tokenType === 'DPoP' && !hasDpop)) {
    throw authRefused({ server, url, defect: 'answers with a `token_type` that was not requested' });
  }
  if (![access_token, refresh_token ?? '-'].every((token) => TOKEN.test(token))) {
    throw authRefused({ server, url, defect: 'answers with a token that contains invalid characters' });
  }
  const lifetime = expires_in === undefined ? undefined : Math.min(expires_in * 1000, MAX_LIFETIME_MS);
  return {
    accessToken: access_token,
    tokenType,
    ...(lifetime !== undefined && { expiresAt: now + lifetime }),
    ...(refresh_token !== undefined && { refreshToken: refresh_token }),
    ...(scope !== undefined && { scopes: scope.split(' ').filter((one) => one !== '') }),
    ...(id_token !== undefined && { idToken: id_token }),
    ...(typeof issued_token_type === 'string' && { issuedTokenType: issued_token_type }),
  };
}

function endpointOf({ server, as }: EndpointRequest, name: string): string {
  const url = as.metadata[name];
  if (typeof url === 'string') return url;
  throw authRefused({ server, url: as.document.url, defect: `names no ${name}` });
}

const protocolClient = (oauth: typeof Oauth, { clock }: ProtocolParts, { clientId }: OAuthClient): Oauth.Client => ({
  client_id: clientId,
  // `oauth4webapi` reads the system clock. The difference makes it follow ours.
  [oauth.clockSkew]: Math.round((clock() - Date.now()) / 1000),
});

const secretsOf = ({ clientSecret }: OAuthClient, parameters: Readonly<Record<string, string>>): readonly string[] =>
  [clientSecret, ...SECRET_PARAMETERS.map((name) => parameters[name])].filter(
    (value) => value !== undefined && value !== '',
  ) as string[];
