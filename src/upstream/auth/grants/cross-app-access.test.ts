import { createHash, randomBytes } from 'node:crypto';
import { errors } from 'oidc-provider';
import { afterAll, beforeAll, beforeEach, describe, expect } from 'vitest';
import { verifies } from '../../../../test/requirements.ts';
import { type AuthorizationServer, openAuthorizationServer } from '../../../../test/servers/authorization-server.ts';
import { openProtectedServer, type ProtectedServer } from '../../../../test/servers/protected-server.ts';
import { scriptedBrowser } from '../../../../test/servers/scripted-browser.ts';
import type { JsonObject } from '../../../core/call.ts';
import { type Grant, SHARED_PRINCIPAL } from '../../../store/token-vault.ts';
import { crossAppAccess } from './cross-app-access.ts';
import { credentialRequest, sendWith, testParts } from './fixtures.ts';

const REDIRECT = 'http://127.0.0.1:9/callback';
const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const ID_TOKEN = 'urn:ietf:params:oauth:token-type:id_token';
const REFRESH_TOKEN = 'urn:ietf:params:oauth:token-type:refresh_token';
const SECRET = { client_id: 'heddle', client_secret: 'app-secret' };
const WEEK = 7 * 86_400_000;

describe('cross-app access', () => {
  let provider: AuthorizationServer;
  let as: AuthorizationServer;
  let servers: readonly ProtectedServer[];
  let session: Grant;

  beforeAll(async () => {
    const grant_types = ['authorization_code', 'refresh_token', TOKEN_EXCHANGE];
    provider = await openAuthorizationServer({ clients: [{ ...SECRET, grant_types, redirect_uris: [REDIRECT] }] });
    const machine = { grant_types: [JWT_BEARER], redirect_uris: [], response_types: [] };
    as = await openAuthorizationServer({
      clients: [{ ...SECRET, ...machine }],
      trustedIssuers: [{ issuer: provider.issuer, publicJwk: provider.publicJwk }],
    });
    const open = () => openProtectedServer({ era: 'modern', authorizationServers: [as] });
    servers = [await open(), await open()];
  });
  afterAll(async () => {
    for (const server of [...servers, as, provider]) await server.close();
  });
  beforeEach(async () => {
    delete provider.onExchange;
    session = await signInAtProvider();
  });

  /** Signs in with plain requests, and returns the session. */
  async function signInAtProvider(): Promise<Grant> {
    const verifier = randomBytes(32).toString('base64url');
    const query = new URLSearchParams({
      ...{ response_type: 'code', client_id: 'heddle', redirect_uri: REDIRECT, scope: 'openid', state: 'x' },
      ...{ code_challenge: createHash('sha256').update(verifier).digest('base64url'), code_challenge_method: 'S256' },
    });
    const page = await scriptedBrowser().signIn(`${provider.issuer}/auth?${query}`, 'ada', REDIRECT);
    const code = new URL(page.url).searchParams.get('code') ?? '';
    const response = await fetch(`${provider.issuer}/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa('heddle:app-secret')}` },
      body: new URLSearchParams({
        ...{ grant_type: 'authorization_code', code, redirect_uri: REDIRECT },
        code_verifier: verifier,
      }),
    });
    const tokens = (await response.json()) as Record<string, string>;
    const { issuer } = provider;
    return {
      ...{ issuer, resource: issuer, serverUrl: issuer, principal: SHARED_PRINCIPAL, clientId: 'heddle' },
      ...{ tokenType: 'Bearer', receivedAt: Date.now(), scopes: ['openid'], accessToken: String(tokens.access_token) },
      ...{ idToken: String(tokens.id_token), refreshToken: String(tokens.refresh_token) },
    };
  }

  async function setup() {
    const xaa = () => ({ issuer: provider.issuer, clientId: 'heddle', clientSecret: 'app-secret' });
    const { parts, vault, time } = await testParts({ xaa });
    await vault.put(session, 0);
    const oauth = { xaa: true, clientId: 'heddle', clientSecret: 'app-secret' };
    const credentials = servers.map(({ url }, at) => crossAppAccess(credentialRequest(url, oauth, `s${at}`), parts));
    const call = (at: number) => {
      const credential = credentials[at];
      const server = servers[at];
      if (!credential || !server) throw new Error('no such server');
      return sendWith(credential, server.url);
    };
    return { parts, vault, time, call };
  }

  const failure = (call: Promise<unknown>) =>
    call.then(
      () => 'success',
      (error) => error,
    );
  const exchangesSince = (count: number) => provider.tokenRequests.slice(count).map(({ params }) => params);

  verifies('A5', 'exchanges the ID token for an ID-JAG, and that for an access token, once per server', async () => {
    const { vault, call } = await setup();
    const [atProvider, atServer] = [provider.tokenRequests.length, as.tokenRequests.length];
    expect([await call(0), await call(1), await call(0)]).not.toContain(401);
    expect(exchangesSince(atProvider)).toMatchObject(
      servers.map(({ url }) => ({
        ...{ grant_type: TOKEN_EXCHANGE, subject_token: session.idToken, subject_token_type: ID_TOKEN },
        ...{ audience: as.issuer, resource: url },
      })),
    );
    const redeemed = as.tokenRequests.slice(atServer);
    expect(redeemed.map(({ params }) => params.grant_type)).toEqual([JWT_BEARER, JWT_BEARER]);
    expect(redeemed.every(({ headers }) => headers.authorization?.startsWith('Basic '))).toBe(true);
    expect(servers.map(({ requests }) => requests.at(-1)?.subject)).toEqual(['ada', 'ada']);
    const labels = await vault.labels();
    const grants = await Promise.all(labels.map((one) => vault.find(one.serverUrl, one.principal)));
    expect(grants.length).toBeGreaterThan(2);
    const stored = JSON.stringify(grants);
    for (const { params } of redeemed) expect(stored).not.toContain(params.assertion);
  });

  verifies('A5', 'uses the refresh token when the ID token has expired', async () => {
    const { time, call } = await setup();
    expect(await call(0)).not.toBe(401);
    const before = provider.tokenRequests.length;
    time.ahead += WEEK;
    expect(await call(0)).not.toBe(401);
    const expected = { subject_token: session.refreshToken, subject_token_type: REFRESH_TOKEN };
    expect(exchangesSince(before)).toMatchObject([expected]);
  });

  verifies('A5', 'reports an error of the provider with its code, for that server only', async () => {
    const { call } = await setup();
    provider.onExchange = ({ resource }) => {
      if (resource === servers[0]?.url) throw new errors.CustomOIDCProviderError('invalid_target', 'not for you');
    };
    expect(await failure(call(0))).toMatchObject({
      ...{ code: 'AUTH_REFUSED', message: expect.stringContaining('s0') },
      details: { oauthError: 'invalid_target', issuer: provider.issuer },
    });
    expect(await call(1)).not.toBe(401);
  });

  verifies('A5', 'needs one sign-in for all servers when the session at the provider is over', async () => {
    const { vault, call } = await setup();
    provider.onExchange = () => {
      throw new errors.CustomOIDCProviderError('invalid_grant', 'gone');
    };
    const before = provider.counts.token;
    const first = await failure(call(0));
    expect(first).toMatchObject({ code: 'AUTH_NEEDED', fix: 'Run `heddle auth login s0`.' });
    expect(await failure(call(1))).toMatchObject({ code: 'AUTH_NEEDED', message: /session is over/ });
    expect(provider.counts.token - before).toBe(2); // The ID token and the refresh token, for the first server.
    delete provider.onExchange;
    await vault.put(await signInAtProvider(), 1);
    expect([await call(0), await call(1)]).not.toContain(401);
  });

  verifies('A5', 'needs a sign-in before the first use, and sends nothing to the provider', async () => {
    const { vault, call } = await setup();
    await vault.remove(provider.issuer, SHARED_PRINCIPAL);
    const before = provider.counts.token + provider.counts.metadata;
    expect(await failure(call(0))).toMatchObject({
      code: 'AUTH_NEEDED',
      message: expect.stringContaining(provider.issuer),
    });
    expect(provider.counts.token + provider.counts.metadata).toBe(before);
  });

  const PROFILES: readonly (readonly [string, JsonObject, boolean])[] = [
    ['lists ID-JAG', { authorization_grant_profiles_supported: ['urn:ietf:params:oauth:grant-profile:id-jag'] }, true],
    ['lists other profiles', { authorization_grant_profiles_supported: ['other'] }, false],
    ['lists no profile', { authorization_grant_profiles_supported: [] }, false],
  ];
  for (const [described, fields, works] of PROFILES) {
    verifies(
      'A5',
      `${works ? 'works' : 'fails without a prompt'} if the authorization server ${described}`,
      async () => {
        const { call, vault } = await setup();
        if (!works) await vault.remove(provider.issuer, SHARED_PRINCIPAL);
        as.faults.metadataFields = fields;
        try {
          const outcome = await failure(call(0));
          if (works) expect(outcome).toBe('success');
          else expect(outcome).toMatchObject({ code: 'AUTH_REFUSED', message: /does not support cross-app access/ });
        } finally {
          delete as.faults.metadataFields;
        }
      },
    );
  }

  verifies('A5', 'refuses another token than an ID-JAG, and does not send it on', async () => {
    const { call } = await setup();
    provider.faults.tokenFields = { issued_token_type: 'urn:ietf:params:oauth:token-type:access_token' };
    const before = as.counts.token;
    expect(await failure(call(0))).toMatchObject({ code: 'AUTH_REFUSED', message: /another token than the ID-JAG/ });
    delete provider.faults.tokenFields;
    expect(as.counts.token).toBe(before);
  });

  verifies('A5', 'waits for a provider that is down, without a prompt', async () => {
    const { call } = await setup();
    provider.faults.tokenStatuses = [503];
    expect(await failure(call(0))).toMatchObject({ code: 'UPSTREAM_UNREACHABLE' });
    expect(await call(0)).not.toBe(401);
  });

  verifies('A5', 'rejects an entry without a provider or a client', async () => {
    const { parts } = await testParts();
    const open = (oauth: object, xaa?: () => { issuer: string; clientId: string }) => () =>
      crossAppAccess(credentialRequest('https://mcp.example', oauth), xaa ? { ...parts, xaa } : parts);
    expect(open({ xaa: true, clientId: 'heddle' })).toThrow(/names no identity provider/);
    expect(open({ xaa: true }, () => ({ issuer: 'https://idp.example', clientId: 'c' }))).toThrow(/has no client/);
  });
});
