import { expect, onTestFinished } from 'vitest';
import { newCallId } from '../../src/core/call/call-id.ts';
import type { Caller } from '../../src/core/call.ts';
import type { Heddle } from '../../src/heddle.ts';
import { verifies } from '../requirements.ts';
import { openAuthorizationServer } from '../servers/authorization-server.ts';
import { openProtectedServer } from '../servers/protected-server.ts';
import { scriptedBrowser } from '../servers/scripted-browser.ts';
import { temporaryHeddle } from '../temporary-heddle.ts';

const REDIRECT = 'http://127.0.0.1:9/callback';
const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const CLIENT = { client_id: 'heddle', client_secret: 'app-secret' };
const WEEK = 7 * 86_400_000;
const owner: Caller = { id: 'local:ada', roles: ['owner'], via: 'library' };
const { signal } = new AbortController();

/** Opens an identity provider, an authorization server and six servers with `oauth.xaa`, three of each era. */
async function openSix() {
  const grant_types = ['authorization_code', 'refresh_token', TOKEN_EXCHANGE];
  const provider = await openAuthorizationServer({ clients: [{ ...CLIENT, grant_types, redirect_uris: [REDIRECT] }] });
  onTestFinished(() => provider.close());
  const as = await openAuthorizationServer({
    clients: [{ ...CLIENT, grant_types: [JWT_BEARER], redirect_uris: [], response_types: [] }],
    trustedIssuers: [{ issuer: provider.issuer, publicJwk: provider.publicJwk }],
  });
  onTestFinished(() => as.close());
  const eras = ['legacy', 'modern', 'legacy', 'modern', 'legacy', 'modern'] as const;
  const servers = await Promise.all(eras.map((era) => openProtectedServer({ era, authorizationServers: [as] })));
  for (const server of servers) onTestFinished(() => server.close());
  const names = servers.map((_, at) => `app${at}`);
  const oauth = { xaa: true, clientId: 'heddle', clientSecret: 'app-secret' };
  const mcpServers = Object.fromEntries(servers.map(({ url }, at) => [`app${at}`, { type: 'http', url, oauth }]));
  const xaa = { issuer: provider.issuer, clientId: 'heddle', clientSecret: 'app-secret' };
  return { provider, as, names, config: { mcpServers, xaa } };
}

async function whoami(heddle: Heddle, server: string): Promise<unknown> {
  const result = await heddle.dispatch({
    ...{ id: newCallId(), kind: 'tool', name: `${server}.whoami`, input: {}, meta: {} },
    ...{ caller: owner, options: {}, signal },
  });
  const value = result.kind === 'complete' ? result.value : {};
  return JSON.parse(JSON.stringify(value.content))[0].text;
}

/** Signs in to a server in a browser, as `ada`. */
async function signIn(heddle: Heddle, server: string) {
  const { url, state, issuer } = await heddle.signIns.begin(owner, server, { redirect: REDIRECT, signal });
  const page = await scriptedBrowser().signIn(url, 'ada', REDIRECT);
  const query = new URL(page.url).search;
  await heddle.signIns.finish(owner, server, { query, state, signal });
  return { issuer, query, state };
}

verifies('A5', 'opens six servers with one browser visit, and again after a week with none', async () => {
  const { provider, as, names, config } = await openSix();
  const time = { ahead: 0 };
  const heddle = await temporaryHeddle({ config, clock: () => Date.now() + time.ahead });
  for (const name of names) {
    await expect(whoami(heddle, name)).rejects.toMatchObject({
      code: 'AUTH_NEEDED',
      fix: expect.stringContaining(name),
    });
  }
  expect(as.counts.token + provider.counts.token).toBe(0);
  const { issuer } = await signIn(heddle, 'app0');
  expect(issuer).toBe(provider.issuer);
  expect(await Promise.all(names.map((name) => whoami(heddle, name)))).toEqual(names.map(() => 'ada'));
  expect(provider.authorizeRequests).toHaveLength(1);
  expect(as.counts.token).toBe(6);

  time.ahead += WEEK;
  expect(await Promise.all(names.map((name) => whoami(heddle, name)))).toEqual(names.map(() => 'ada'));
  expect(provider.authorizeRequests).toHaveLength(1);
  expect(as.authorizeRequests).toHaveLength(0);
  expect(as.counts.token).toBe(12);
  const subjects = provider.tokenRequests.flatMap(({ params }) => params.subject_token_type ?? []);
  expect(subjects.map((type) => type.split(':').at(-1))).toEqual([
    ...names.map(() => 'id_token'),
    ...names.map(() => 'refresh_token'),
  ]);
  const listed = await heddle.signIns.list(owner);
  expect(listed.map(({ state }) => state)).toEqual(names.map(() => 'signed-in'));
});

verifies('A5', 'stores no session whose ID token another key has signed', async () => {
  const { provider, config } = await openSix();
  const other = await openAuthorizationServer();
  onTestFinished(() => other.close());
  const heddle = await temporaryHeddle({ config });
  provider.faults.metadataFields = { jwks_uri: `${other.issuer}/jwks` };
  await expect(signIn(heddle, 'app0')).rejects.toMatchObject({ code: 'AUTH_REFUSED', message: /ID token/ });
  delete provider.faults.metadataFields;
  await expect(whoami(heddle, 'app1')).rejects.toMatchObject({ code: 'AUTH_NEEDED' });
});

verifies('A5', 'begins no sign-in for a server whose authorization server does not support it', async () => {
  const { provider, as, config } = await openSix();
  const heddle = await temporaryHeddle({ config });
  as.faults.metadataFields = { authorization_grant_profiles_supported: [] };
  await expect(signIn(heddle, 'app0')).rejects.toMatchObject({ code: 'AUTH_REFUSED', message: /cross-app access/ });
  expect(provider.counts.authorize).toBe(0);
});

verifies('A5', 'ends the session for all servers on logout', async () => {
  const { config, names } = await openSix();
  const heddle = await temporaryHeddle({ config });
  await signIn(heddle, 'app0');
  expect(await heddle.signIns.forget(owner, 'app0', signal)).toMatchObject({ removed: true });
  for (const name of names) await expect(whoami(heddle, name)).rejects.toMatchObject({ code: 'AUTH_NEEDED' });
});
