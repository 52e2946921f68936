import { createHash } from 'node:crypto';
import { expect, it, onTestFinished } from 'vitest';
import type { JsonObject } from '../../src/core/call.ts';
import { type AuthorizationServerOptions, openAuthorizationServer } from './authorization-server.ts';
import { scriptedBrowser } from './scripted-browser.ts';

const REDIRECT = 'http://127.0.0.1:1/callback';
const RESOURCE = 'http://127.0.0.1:2/mcp';
const VERIFIER = 'v'.repeat(43);

async function serverWithClient(options: AuthorizationServerOptions = {}) {
  const server = await openAuthorizationServer(options);
  onTestFinished(() => server.close());
  const metadata = (await (
    await fetch(
      `${new URL(server.issuer).origin}/.well-known/oauth-authorization-server${new URL(server.issuer).pathname.replace(/\/$/, '')}`,
    )
  ).json()) as Record<string, string>;
  const registered = await fetch(metadata.registration_endpoint as string, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      redirect_uris: [REDIRECT],
      application_type: 'native',
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
    }),
  });
  const { client_id } = (await registered.json()) as { client_id: string };
  const token = async (fields: Record<string, string>) => {
    const body = new URLSearchParams({ client_id, ...fields });
    const response = await fetch(metadata.token_endpoint as string, { method: 'POST', body });
    return { status: response.status, body: (await response.json()) as JsonObject };
  };
  const authorize = async (user: string, scope = 'mcp:read') => {
    const query = new URLSearchParams({
      ...{ client_id, redirect_uri: REDIRECT, response_type: 'code', state: 's', scope, resource: RESOURCE },
      ...{ code_challenge: createHash('sha256').update(VERIFIER).digest('base64url'), code_challenge_method: 'S256' },
    });
    const page = await scriptedBrowser().signIn(`${metadata.authorization_endpoint}?${query}`, user, REDIRECT);
    return new URL(page.url).searchParams;
  };
  const exchange = (code: string | null) =>
    token({
      grant_type: 'authorization_code',
      code: String(code),
      redirect_uri: REDIRECT,
      code_verifier: VERIFIER,
      resource: RESOURCE,
    });
  return { server, metadata, authorize, token, exchange };
}

it('signs a scripted browser in and issues rotating tokens for one resource', async () => {
  const { server, metadata, authorize, token, exchange } = await serverWithClient({ path: '/tenant' });
  expect(metadata.issuer).toBe(server.issuer);
  const answer = await authorize('ada');
  expect([answer.get('state'), answer.get('iss')]).toEqual(['s', server.issuer]);
  const first = await exchange(answer.get('code'));
  expect(first).toMatchObject({ status: 200, body: { token_type: 'Bearer', scope: 'mcp:read' } });
  expect(await server.introspect(String(first.body.access_token))).toMatchObject({ accountId: 'ada', aud: RESOURCE });

  const refresh = (refresh_token: unknown) =>
    token({ grant_type: 'refresh_token', refresh_token: String(refresh_token), resource: RESOURCE });
  const second = await refresh(first.body.refresh_token);
  expect(second.status).toBe(200);
  expect(await refresh(first.body.refresh_token)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
  // Reuse revoked the whole grant.
  expect(await server.introspect(String(second.body.access_token))).toBeUndefined();
  expect(server.counts).toMatchObject({ registration: 1, token: 3 });
  expect(server.tokenRequests[1]?.params).toMatchObject({ grant_type: 'refresh_token', resource: RESOURCE });
});

it('adds the fault that is switched on, and no other', async () => {
  const { server, authorize, token, exchange } = await serverWithClient();
  server.faults.iss = 'https://other.example';
  const answer = await authorize('ada');
  expect(answer.get('iss')).toBe('https://other.example');
  server.faults.tokenStatuses = [500];
  expect((await exchange(answer.get('code'))).status).toBe(500);
  server.faults.tokenFields = { expires_in: 1e12, token_type: null };
  const { body } = await exchange(answer.get('code'));
  expect(body).toMatchObject({ expires_in: 1e12, access_token: expect.any(String) });
  expect(body).not.toHaveProperty('token_type');
  server.faults.down = true;
  await expect(token({ grant_type: 'refresh_token' })).rejects.toThrow('fetch failed');
});

it('issues an ID-JAG for an ID token, and a second server issues an access token for it once', async () => {
  const clients = (grant: string) => [
    {
      ...{ client_id: 'heddle', client_secret: 'secret', redirect_uris: [REDIRECT] },
      grant_types: ['authorization_code', 'refresh_token', grant],
    },
  ];
  const provider = await openAuthorizationServer({
    clients: clients('urn:ietf:params:oauth:grant-type:token-exchange'),
  });
  onTestFinished(() => provider.close());
  const server = await openAuthorizationServer({
    clients: clients('urn:ietf:params:oauth:grant-type:jwt-bearer'),
    trustedIssuers: [provider],
  });
  onTestFinished(() => server.close());
  const authorization = `Basic ${btoa('heddle:secret')}`;
  const post = async (issuer: string, fields: Record<string, string>) => {
    const body = new URLSearchParams(fields);
    const response = await fetch(`${issuer}/token`, { method: 'POST', headers: { authorization }, body });
    return (await response.json()) as JsonObject;
  };
  const query = new URLSearchParams({
    ...{ client_id: 'heddle', redirect_uri: REDIRECT, response_type: 'code', scope: 'openid', state: 's' },
    ...{ code_challenge: createHash('sha256').update(VERIFIER).digest('base64url'), code_challenge_method: 'S256' },
  });
  const page = await scriptedBrowser().signIn(`${provider.issuer}/auth?${query}`, 'ada', REDIRECT);
  const code = String(new URL(page.url).searchParams.get('code'));
  const tokens = await post(provider.issuer, {
    ...{ grant_type: 'authorization_code', code, redirect_uri: REDIRECT, code_verifier: VERIFIER },
  });
  const jag = await post(provider.issuer, {
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    requested_token_type: 'urn:ietf:params:oauth:token-type:id-jag',
    subject_token: String(tokens.id_token),
    subject_token_type: 'urn:ietf:params:oauth:token-type:id_token',
    ...{ audience: server.issuer, resource: RESOURCE },
  });
  expect(jag).toMatchObject({ token_type: 'N_A' });
  const redeem = () =>
    post(server.issuer, {
      grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
      assertion: String(jag.access_token),
    });
  const redeemed = await redeem();
  expect(redeemed).toMatchObject({ token_type: 'Bearer' });
  expect(await server.introspect(String(redeemed.access_token))).toMatchObject({ accountId: 'ada', aud: RESOURCE });
  expect(await redeem()).toMatchObject({ error: 'invalid_grant' });
});
