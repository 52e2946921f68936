import { generateKeyPairSync, type JsonWebKey } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { JWK } from 'jose';
import { Provider, type StoredToken } from 'oidc-provider';
import type { JsonObject } from '../../src/core/call.ts';
import {
  type AuthorizationServerFaults,
  answerWithFault,
  changeResponse,
  type EndpointName,
} from './authorization-server-faults.ts';
import { type ExchangeParts, registerExchangeGrants, type TrustedIssuer } from './authorization-server-grants.ts';
import { mapAdapter } from './oidc-adapter.ts';

export interface AuthorizationServerOptions {
  /** The path of the issuer, such as `/tenant`. */
  readonly path?: string;
  /** Clients known from the start, with the metadata names of RFC 7591. */
  readonly clients?: readonly JsonObject[];
  /** The scopes of every resource. */
  readonly scopes?: readonly string[];
  /** The lifetime of access tokens in seconds; 3,600 by default. */
  readonly accessTokenSeconds?: number;
  /** The resources whose access tokens are JWTs. Those of other resources are opaque. */
  readonly jwtResources?: readonly string[];
  /** False: a refresh returns no new refresh token. */
  readonly rotates?: boolean;
  /** False: the server has no registration endpoint. */
  readonly registers?: boolean;
  /** True: the token endpoint and resources require a DPoP nonce. */
  readonly requiresDpopNonce?: boolean;
  /** True: each client receives another `sub` for the same user. */
  readonly isPairwise?: boolean;
  /** The issuers whose assertions `jwt-bearer` accepts. */
  readonly trustedIssuers?: readonly TrustedIssuer[];
  /** Returns the client metadata document at a client id. With it the server supports such documents. */
  readonly clientDocument?: (clientId: string) => Promise<Response>;
}

/** A token request. `params` are those of its form. */
export interface TokenRequest {
  readonly params: Readonly<Record<string, string>>;
  readonly headers: IncomingMessage['headers'];
}

export interface AuthorizationServer {
  readonly issuer: string;
  readonly provider: Provider;
  /** The scope of authorization requests that name none. */
  readonly defaultScope: string;
  /** The faults. Tests set and delete them. */
  readonly faults: AuthorizationServerFaults;
  /** The number of requests per endpoint. */
  readonly counts: Record<EndpointName, number>;
  readonly tokenRequests: readonly TokenRequest[];
  /** The query of every authorization request. */
  readonly authorizeRequests: readonly URLSearchParams[];
  /** The bodies of all token responses, faults not applied. */
  readonly tokenResponses: readonly JsonObject[];
  /** The public key of its JWTs. */
  readonly publicJwk: JWK;
  /** Refuses token exchanges with the error that the function throws. */
  onExchange?: ExchangeParts['onExchange'];
  /** Returns what the server knows about an opaque access token, if it is valid. */
  introspect(token: string): Promise<StoredToken | undefined>;
  /** Issues an access token of a user for a resource to a client of `clients`. */
  issueAccessToken(user: string, resource: string, clientId: string): Promise<string>;
  /** Ends the grant of an access or refresh token: neither works any more. */
  revokeGrant(token: string): Promise<void>;
  close(): Promise<void>;
}

const DEFAULT_SCOPES = ['mcp:read', 'mcp:write', 'mcp:admin'];

function newSigningKey(): { readonly privateJwk: JWK; readonly publicJwk: JWK } {
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const more = { kid: crypto.randomUUID(), alg: 'ES256', use: 'sig' };
  const jwkOf = (key: { export(options: { format: 'jwk' }): JsonWebKey }) => ({
    ...key.export({ format: 'jwk' }),
    ...more,
  });
  return { privateJwk: jwkOf(pair.privateKey) as JWK, publicJwk: jwkOf(pair.publicKey) as JWK };
}

/**
 * Starts `oidc-provider` on a free port of 127.0.0.1, as authorization server and identity provider. Any user name
 * signs in. An HTTP layer before it counts requests and adds faults.
 */
export async function openAuthorizationServer(options: AuthorizationServerOptions = {}): Promise<AuthorizationServer> {
  const { path = '' } = options;
  let handle: (request: IncomingMessage, response: ServerResponse) => void = () => {};
  const server = createServer((request, response) => handle(request, response));
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`;
  const keys = newSigningKey();
  const resourceServer = (resource: string) => ({
    audience: resource,
    scope: (options.scopes ?? DEFAULT_SCOPES).join(' '),
    accessTokenTTL: options.accessTokenSeconds ?? 3600,
    accessTokenFormat: options.jwtResources?.includes(resource) ? 'jwt' : 'opaque',
    jwt: { sign: { alg: 'ES256' } },
  });
  const provider = new Provider(issuer, configurationOf(options, { privateJwk: keys.privateJwk, resourceServer }));
  const counts = { metadata: 0, jwks: 0, authorize: 0, token: 0, registration: 0, revocation: 0, other: 0 };
  const opened = {
    ...{ issuer, provider, counts, publicJwk: keys.publicJwk },
    defaultScope: (options.scopes ?? DEFAULT_SCOPES)[0] ?? '',
    faults: {} as AuthorizationServerFaults,
    tokenRequests: [] as TokenRequest[],
    authorizeRequests: [] as URLSearchParams[],
    tokenResponses: [] as JsonObject[],
    onExchange: undefined as ExchangeParts['onExchange'],
    async introspect(token: string) {
      const found = (await provider.AccessToken.find(token)) ?? (await provider.ClientCredentials.find(token));
      return found?.isValid ? found : undefined;
    },
    async issueAccessToken(user: string, resource: string, clientId: string) {
      const client = await provider.Client.find(clientId);
      const token = new provider.AccessToken({ accountId: user, client, gty: 'authorization_code' });
      token.resourceServer = new provider.ResourceServer(resource, resourceServer(resource));
      return token.save();
    },
    async revokeGrant(token: string) {
      const found = (await provider.AccessToken.find(token)) ?? (await provider.RefreshToken.find(token));
      if (found?.grantId) await provider.AccessToken.revokeByGrantId(found.grantId);
    },
    async close() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
  registerExchangeGrants(provider, {
    ...{ issuer, ...keys, trustedIssuers: options.trustedIssuers ?? [] },
    resourceServer: (resource) => new provider.ResourceServer(resource, resourceServer(resource)),
    onExchange: (params) => opened.onExchange?.(params),
  });
  handle = requestHandler(opened, path);
  return opened as AuthorizationServer;
}

interface ConfigurationParts {
  readonly privateJwk: JWK;
  resourceServer(resource: string): object;
}

/** Returns the configuration of oidc-provider. */
function configurationOf(options: AuthorizationServerOptions, { privateJwk, resourceServer }: ConfigurationParts) {
  const { accessTokenSeconds = 3600, clientDocument } = options;
  const grantTypes = ['authorization_code', 'refresh_token', 'client_credentials'];
  return {
    adapter: mapAdapter(),
    clients: options.clients ?? [],
    clientDefaults: {
      ...{ grant_types: grantTypes.slice(0, 2), id_token_signed_response_alg: 'ES256' },
      ...(options.isPairwise && { subject_type: 'pairwise' }),
    },
    ...(options.isPairwise && {
      subjectTypes: ['public', 'pairwise'],
      pairwiseIdentifier: (_: unknown, id: string, client: { clientId: string }) => `${id}-at-${client.clientId}`,
    }),
    clientAuthMethods: ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'],
    cookies: { keys: ['test'] },
    jwks: { keys: [privateJwk] },
    pkce: { required: () => true },
    scopes: ['openid', 'offline_access'],
    ttl: {
      ...{ AccessToken: accessTokenSeconds, ClientCredentials: accessTokenSeconds, AuthorizationCode: 600 },
      ...{ IdToken: 3600, RefreshToken: 30 * 86_400, Grant: 30 * 86_400, Session: 86_400, Interaction: 3600 },
    },
    rotateRefreshToken: options.rotates ?? true,
    issueRefreshToken: (_: unknown, client: { grantTypeAllowed(type: string): boolean }) =>
      client.grantTypeAllowed('refresh_token'),
    expiresWithSession: () => false,
    findAccount: (_: unknown, id: string) => ({ accountId: id, claims: () => ({ sub: id }) }),
    interactions: { url: (_: unknown, { uid }: { uid: string }) => `${options.path ?? ''}/interaction/${uid}` },
    ...(clientDocument && { fetch: (url: URL | string) => clientDocument(String(url)) }),
    features: {
      devInteractions: { enabled: false },
      registration: { enabled: options.registers ?? true },
      revocation: { enabled: true, allowedPolicy: () => true },
      introspection: { enabled: true },
      clientCredentials: { enabled: true },
      rpInitiatedLogout: { enabled: false },
      dPoP: {
        ...{ enabled: true, nonceSecret: Buffer.alloc(32, 7), requireNonce: () => options.requiresDpopNonce ?? false },
      },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => undefined,
        useGrantedResource: () => true,
        getResourceServerInfo: (_: unknown, resource: string) => resourceServer(resource),
      },
      ...(clientDocument && { clientIdMetadataDocument: { enabled: true, ack: 'draft-02' } }),
    },
  };
}

type Opened = Omit<AuthorizationServer, 'tokenRequests' | 'authorizeRequests' | 'tokenResponses'> & {
  readonly tokenRequests: TokenRequest[];
  readonly authorizeRequests: URLSearchParams[];
  readonly tokenResponses: JsonObject[];
};

/** Returns the HTTP layer before the provider. */
function requestHandler(opened: Opened, path: string) {
  const forward = opened.provider.callback();
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? '/', opened.issuer);
    const endpoint = endpointOf(url.pathname, path);
    opened.counts[endpoint]++;
    if (endpoint === 'authorize') recordAuthorization(opened, url.searchParams);
    if (endpoint === 'token') recordTokenRequest(opened, request);
    if (answerWithFault(opened.faults, endpoint, { request, response })) return;
    if (endpoint === 'token') recordResponse(opened.tokenResponses, response);
    changeResponse(opened.faults, endpoint, response);
    const { pathname } = url;
    if (pathname.startsWith(`${path}/interaction/`)) return interact(opened.provider, request, response);
    const inner = endpoint === 'metadata' ? '/.well-known/openid-configuration' : pathname.slice(path.length);
    Object.assign(request, { originalUrl: `${path}${inner}${url.search}`, url: `${inner}${url.search}` });
    await forward(request, response);
  };
}

/** Records an authorization request. One without a scope gets the default scope (RFC 6749, section 3.3). */
function recordAuthorization({ authorizeRequests, defaultScope }: Opened, query: URLSearchParams): void {
  if (!query.has('client_id')) return;
  authorizeRequests.push(new URLSearchParams(query));
  if (!query.has('scope')) query.set('scope', defaultScope);
}

function endpointOf(pathname: string, path: string): EndpointName {
  if (pathname.includes('/.well-known/')) return 'metadata';
  const rest = pathname.slice(path.length);
  if (rest.startsWith('/auth')) return 'authorize';
  const names: Record<string, EndpointName> = { '/reg': 'registration', '/token/revocation': 'revocation' };
  return names[rest] ?? (['/token', '/jwks'].includes(rest) ? (rest.slice(1) as EndpointName) : 'other');
}

/** Records the form of a token request while the provider reads it. */
function recordTokenRequest(opened: Opened, request: IncomingMessage): void {
  const push = request.push.bind(request);
  let form = '';
  request.push = (chunk: Buffer | null) => {
    if (chunk) form += chunk.toString();
    else opened.tokenRequests.push({ params: Object.fromEntries(new URLSearchParams(form)), headers: request.headers });
    return push(chunk);
  };
}

function recordResponse(responses: JsonObject[], response: ServerResponse): void {
  const end = response.end.bind(response) as (body?: unknown) => ServerResponse;
  response.end = ((body?: unknown) => {
    if (body !== undefined) responses.push(JSON.parse(String(body)) as JsonObject);
    return end(body);
  }) as ServerResponse['end'];
}

const FORM = `<!doctype html><title>Sign in</title>
<form method="post"><input name="login" required><button name="action" value="allow">Sign in</button></form>`;

/** The interaction page: it asks for a user name, grants all that was requested, or cancels. */
async function interact(provider: Provider, request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method !== 'POST') {
    response.writeHead(200, { 'content-type': 'text/html' }).end(FORM);
    return;
  }
  const form = new URLSearchParams(await text(request));
  if (form.get('action') === 'deny') {
    await provider.interactionFinished(request, response, { error: 'access_denied', error_description: 'Denied' });
    return;
  }
  const { params, session } = await provider.interactionDetails(request, response);
  const accountId = session?.accountId ?? form.get('login') ?? '';
  const grant = new provider.Grant({ accountId, clientId: params.client_id });
  if (params.scope) grant.addOIDCScope(params.scope);
  if (params.resource) grant.addResourceScope(params.resource, params.scope ?? '');
  await provider.interactionFinished(request, response, {
    login: { accountId },
    consent: { grantId: await grant.save() },
  });
}
