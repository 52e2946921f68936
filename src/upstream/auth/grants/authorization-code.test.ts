import { expect, onTestFinished } from 'vitest';
import { authParts, protectedSetup, sendWith } from '../../../../test/auth/send-with-credential.ts';
import { verifies } from '../../../../test/requirements.ts';
import { openAuthorizationServer } from '../../../../test/servers/authorization-server.ts';
import { signInDirectly } from '../../../../test/servers/sign-in-directly.ts';
import { remoteEntry } from '../../../config/schema/server-schema.ts';
import { openCredential } from '../open-credential.ts';

const HOUR = 3_600_000;
type Setup = Parameters<typeof protectedSetup>[0];
type SignIn = Partial<Parameters<typeof signInDirectly>[0]>;

/** Signs in to a protected server, and opens credentials for it. */
async function signedIn(options: Setup = {}, signIn: SignIn = {}) {
  const { as, server } = await protectedSetup(options);
  const time = { now: Date.now() };
  const { store, parts } = await authParts(time);
  const grant = await signInDirectly({ as, server, store, ...signIn });
  const before = as.counts.token;
  const open = (oauth = {}, more = {}) => {
    const entry = remoteEntry.parse({ type: 'http', url: server.url, oauth });
    return openCredential({ server: 'demo', entry, principal: 'shared' }, { ...parts, ...more });
  };
  const send = async (credential = open()) => sendWith(await credential, server.url);
  return { as, server, time, store, grant, open, send, tokenRequests: () => as.counts.token - before };
}

// The servers answer `ping` with 200 or a protocol error. Only 401 and 403 are refusals.
const REFUSALS = [401, 403];

verifies('A3', 'renews expired tokens with `resource`, the client id of the grant, and the refresh token', async () => {
  const { as, time, grant, store, send, tokenRequests, server } = await signedIn();
  time.now += HOUR;
  expect(REFUSALS).not.toContain(await send());
  expect(tokenRequests()).toBe(1);
  expect(as.tokenRequests.at(-1)?.params).toEqual({
    grant_type: 'refresh_token',
    refresh_token: grant.refreshToken,
    resource: server.resource,
    client_id: grant.clientId,
  });
  const renewed = await store.vault.find(server.url, 'shared');
  expect(renewed).toMatchObject({ receivedAt: time.now, expiresAt: time.now + HOUR, scopes: grant.scopes });
  expect(renewed?.refreshToken).not.toBe(grant.refreshToken);
  expect(server.requests.map(({ token }) => token)).toEqual([renewed?.accessToken]);
});

verifies('A3', 'keeps a refresh token that the response does not replace', async () => {
  const { time, grant, store, send, server } = await signedIn({ rotates: false });
  time.now += HOUR;
  await send();
  expect(await store.vault.find(server.url, 'shared')).toMatchObject({ refreshToken: grant.refreshToken });
});

verifies('A3', 'authenticates a registered client with its secret', async () => {
  for (const authMethod of ['client_secret_basic', 'client_secret_post'] as const) {
    const { time, send, tokenRequests } = await signedIn({}, { authMethod });
    time.now += HOUR;
    expect(REFUSALS).not.toContain(await send());
    expect(tokenRequests()).toBe(1);
  }
});

verifies('A3', 'reads the resource metadata after a 401, renews once and sends the request again', async () => {
  const { as, server, send, tokenRequests, open } = await signedIn();
  const credential = open();
  expect(REFUSALS).not.toContain(await send(credential));
  const metadata = as.counts.metadata;
  const old = server.requests.at(-1)?.token;
  server.faults.refuses = (token) => token === old;
  const statuses = await Promise.all(Array.from({ length: 20 }, () => send(credential)));
  expect(statuses.filter((status) => REFUSALS.includes(status))).toEqual([]);
  expect([tokenRequests(), as.counts.metadata > metadata]).toEqual([1, true]);
});

verifies('A3', 'fails with AUTH_NEEDED if the server refuses renewed tokens too, after one token request', async () => {
  const { server, send, tokenRequests, open } = await signedIn();
  server.faults.refuses = () => true;
  const credential = open();
  await expect(send(credential)).rejects.toMatchObject({ code: 'AUTH_NEEDED', details: { server: 'demo' } });
  expect(tokenRequests()).toBe(1);
});

verifies('A3', 'notices tokens that another process has renewed, without a token request', async () => {
  const { server, open, send, time, tokenRequests } = await signedIn();
  const [stale, other] = [open(), open()];
  await send(stale);
  const old = server.requests.at(-1)?.token;
  time.now += HOUR;
  await send(other);
  time.now -= HOUR;
  server.faults.refuses = (token) => token === old;
  expect(REFUSALS).not.toContain(await send(stale));
  expect(tokenRequests()).toBe(1);
});

verifies('A3', 'sends nothing of a grant to another issuer, and asks for a sign-in', async () => {
  const { server, send, tokenRequests } = await signedIn();
  const other = await openAuthorizationServer();
  onTestFinished(() => other.close());
  server.faults.metadataFields = { authorization_servers: [other.issuer] };
  server.faults.refuses = () => true;
  await expect(send()).rejects.toMatchObject({
    code: 'AUTH_NEEDED',
    message: expect.stringContaining(other.issuer),
    fix: 'Run `heddle auth login demo`.',
  });
  expect([tokenRequests(), other.counts.token]).toEqual([0, 0]);
});

verifies('A3', 'names both issuers if the server names another than `oauth.issuer`', async () => {
  const { as, server, send, open, tokenRequests } = await signedIn();
  const other = await openAuthorizationServer();
  onTestFinished(() => other.close());
  server.faults.metadataFields = { authorization_servers: [other.issuer] };
  server.faults.refuses = () => true;
  const failure = await send(open({ issuer: as.issuer })).catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: 'AUTH_REFUSED' });
  expect(String(failure)).toContain(as.issuer);
  expect(String(failure)).toContain(other.issuer);
  expect([tokenRequests(), other.counts.token]).toEqual([0, 0]);
});

verifies('A3', 'stays with the issuer of the grant while it is down, although another one answers', async () => {
  const { as, server, send, time } = await signedIn();
  const other = await openAuthorizationServer();
  onTestFinished(() => other.close());
  server.faults.metadataFields = { authorization_servers: [as.issuer, other.issuer] };
  as.faults.down = true;
  time.now += 2 * HOUR;
  await expect(send()).rejects.toMatchObject({ code: 'UPSTREAM_UNREACHABLE', delivered: 'no' });
});

verifies('A3', 'asks for one sign-in after invalid_grant, and sends the refresh token once', async () => {
  const { as, send, open, time, grant, tokenRequests, store, server } = await signedIn();
  await as.revokeGrant(grant.refreshToken ?? '');
  time.now += 2 * HOUR;
  const credential = open();
  await expect(send(credential)).rejects.toMatchObject({
    code: 'AUTH_NEEDED',
    details: { oauthError: 'invalid_grant', scopes: ['mcp:read'] },
  });
  await expect(send(credential)).rejects.toMatchObject({ code: 'AUTH_NEEDED' });
  expect(tokenRequests()).toBe(1);
  expect(await store.vault.find(server.url, 'shared')).toEqual(grant);
});

verifies('A3', 'forgets a registration after invalid_client, so that the next sign-in registers anew', async () => {
  const { as, send, time, grant, store } = await signedIn();
  as.faults.tokenError = { error: 'invalid_client' };
  time.now += HOUR;
  await expect(send()).rejects.toMatchObject({ code: 'AUTH_NEEDED', details: { oauthError: 'invalid_client' } });
  expect(await store.clients.find(as.issuer)).toEqual([]);
  expect(await store.vault.find(grant.serverUrl, 'shared')).toEqual(grant);
});

for (const [what, fault] of [
  ['is unreachable', { down: true }],
  ['answers 500', { tokenStatuses: [500, 500, 500, 500] }],
  ['answers 429', { tokenStatuses: [429, 429, 429, 429] }],
] as const) {
  verifies('A3', `uses the access token while it lasts if the authorization server ${what}`, async () => {
    const { as, send, open, time, grant, store, server } = await signedIn();
    const credential = open();
    Object.assign(as.faults, fault);
    time.now += HOUR - 10_000;
    expect(REFUSALS).not.toContain(await send(credential));
    time.now += 120_000;
    await expect(send(credential)).rejects.toMatchObject({
      code: 'UPSTREAM_UNREACHABLE',
      message: expect.stringContaining(as.issuer),
    });
    expect(await store.vault.find(server.url, 'shared')).toEqual(grant);
    for (const name of Object.keys(fault)) delete as.faults[name as keyof typeof fault];
    time.now += 1000;
    expect(REFUSALS).not.toContain(await send(credential));
  });
}

verifies('A3', 'asks for the scopes of the grant and of the challenge after insufficient_scope', async () => {
  const { send } = await signedIn({ requiredScopes: ['mcp:write'] });
  await expect(send()).rejects.toMatchObject({
    code: 'AUTH_NEEDED',
    message: expect.stringContaining('mcp:read mcp:write'),
    details: { scopes: ['mcp:read', 'mcp:write'], oauthError: 'insufficient_scope', status: 403 },
  });
});

verifies('A3', 'takes a grant of another client than `oauth.clientId` for none', async () => {
  const { server, send, open } = await signedIn();
  await expect(send(open({ clientId: 'other' }))).rejects.toMatchObject({ code: 'AUTH_NEEDED' });
  expect(server.requests.map(({ token }) => token)).toEqual([undefined]);
});
