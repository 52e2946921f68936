import { createHash, randomBytes } from 'node:crypto';
import type { JsonObject } from '../../src/core/call.ts';
import type { Store } from '../../src/store/store.ts';
import { type Grant, SHARED_PRINCIPAL } from '../../src/store/token-vault.ts';
import { tokenLeaseName } from '../../src/upstream/auth/token-lease.ts';
import type { AuthorizationServer } from './authorization-server.ts';
import type { ProtectedServer } from './protected-server.ts';
import { scriptedBrowser } from './scripted-browser.ts';

interface DirectSignIn {
  readonly as: Pick<AuthorizationServer, 'issuer'>;
  readonly server: Pick<ProtectedServer, 'url' | 'resource'>;
  readonly store: Pick<Store, 'vault' | 'clients' | 'leases'>;
  /** The method that the client registers for the token endpoint. */
  readonly authMethod?: 'none' | 'client_secret_basic' | 'client_secret_post';
  readonly principal?: string;
  readonly user?: string;
  readonly scopes?: readonly string[];
  /** The time at which the tokens are received. */
  readonly now?: number;
}

const REDIRECT = 'http://127.0.0.1:9/callback';

/** Signs in with plain requests, and writes the registration and the tokens to a store. Returns the grant. */
export async function signInDirectly(options: DirectSignIn): Promise<Grant> {
  const { as, server, store, principal = SHARED_PRINCIPAL, scopes = ['mcp:read'], now = Date.now() } = options;
  const { authMethod = 'none' } = options;
  const client = await post(`${as.issuer}/reg`, {
    ...{ redirect_uris: [REDIRECT], token_endpoint_auth_method: authMethod, application_type: 'native' },
    grant_types: ['authorization_code', 'refresh_token'],
  });
  const { client_id: clientId, client_secret: clientSecret } = client as Readonly<Record<string, string>>;
  const registered = { clientId: String(clientId), ...(clientSecret !== undefined && { clientSecret }) };
  const tokens = await exchangeCode(options, registered, scopes);
  const grant: Grant = {
    ...{ issuer: as.issuer, resource: server.resource, principal, serverUrl: server.url, tokenType: 'Bearer' },
    ...{ accessToken: String(tokens.access_token), refreshToken: String(tokens.refresh_token) },
    ...{ receivedAt: now, expiresAt: now + Number(tokens.expires_in) * 1000 },
    ...{ scopes: String(tokens.scope ?? '').split(' '), clientId: registered.clientId },
  };
  const registration = { ...registered, issuer: as.issuer, redirectUri: REDIRECT, isDoubtful: false };
  await store.clients.put({ ...registration, metadata: client });
  const lease = await store.leases.acquire(tokenLeaseName(server.url, principal), 1000);
  if (!lease || !(await store.vault.put(grant, lease.epoch))) throw new Error('The tokens could not be written.');
  await store.leases.release(lease);
  return grant;
}

async function exchangeCode(
  { as, server, authMethod = 'none', user = 'ada' }: DirectSignIn,
  { clientId, clientSecret }: { readonly clientId: string; readonly clientSecret?: string },
  scopes: readonly string[],
): Promise<JsonObject> {
  const verifier = randomBytes(32).toString('base64url');
  const query = new URLSearchParams({
    ...{ response_type: 'code', client_id: clientId, redirect_uri: REDIRECT, state: 'x', resource: server.resource },
    ...{ code_challenge: createHash('sha256').update(verifier).digest('base64url'), code_challenge_method: 'S256' },
    scope: scopes.join(' '),
  });
  const page = await scriptedBrowser().signIn(`${as.issuer}/auth?${query}`, user, REDIRECT);
  const body = new URLSearchParams({
    ...{ grant_type: 'authorization_code', code: new URL(page.url).searchParams.get('code') ?? '' },
    ...{ redirect_uri: REDIRECT, code_verifier: verifier, resource: server.resource },
    ...(authMethod !== 'client_secret_basic' && { client_id: clientId }),
    ...(authMethod === 'client_secret_post' && { client_secret: clientSecret ?? '' }),
  });
  const basic = { authorization: `Basic ${btoa(`${clientId}:${clientSecret}`)}` };
  const headers = authMethod === 'client_secret_basic' ? basic : {};
  const response = await fetch(`${as.issuer}/token`, { method: 'POST', headers, body });
  const tokens = (await response.json()) as JsonObject;
  if (!response.ok) throw new Error(`No tokens: ${JSON.stringify(tokens)}`);
  return tokens;
}

async function post(url: string, body: JsonObject): Promise<JsonObject> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  const answer = (await response.json()) as JsonObject;
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${JSON.stringify(answer)}`);
  return answer;
}
