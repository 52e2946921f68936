import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { openStore } from '../../src/store/open-store.ts';
import { SHARED_PRINCIPAL } from '../../src/store/token-vault.ts';
import { verifies } from '../requirements.ts';
import { openAuthorizationServer } from '../servers/authorization-server.ts';
import { openProtectedServer } from '../servers/protected-server.ts';
import { scriptedBrowser } from '../servers/scripted-browser.ts';
import { project } from './heddle-command.ts';
import { filesBelow, findLeaks, secretsOf } from './leak-search.ts';
import { startCommand } from './signing-in.ts';

const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const CLIENT = { client_id: 'heddle', client_secret: 'marker-of-the-client-secret' };
const LOOPBACK = { application_type: 'native', redirect_uris: ['http://127.0.0.1/callback'] };

/** Opens an identity provider, an authorization server, a server with `oauth.xaa` and one that requires DPoP. */
async function openServers() {
  const grant_types = ['authorization_code', 'refresh_token', TOKEN_EXCHANGE];
  const provider = await openAuthorizationServer({ clients: [{ ...CLIENT, ...LOOPBACK, grant_types }] });
  onTestFinished(() => provider.close());
  const as = await openAuthorizationServer({
    clients: [{ ...CLIENT, grant_types: [JWT_BEARER], redirect_uris: [], response_types: [] }],
    trustedIssuers: [{ issuer: provider.issuer, publicJwk: provider.publicJwk }],
  });
  onTestFinished(() => as.close());
  const [app, bound] = await Promise.all(
    (['modern', 'legacy'] as const).map((era) => openProtectedServer({ era, authorizationServers: [as] })),
  );
  if (!app || !bound) throw new Error('no server');
  onTestFinished(() => app.close());
  onTestFinished(() => bound.close());
  bound.faults.metadataFields = { dpop_bound_access_tokens_required: true };
  return { provider, as, app, bound };
}

verifies('A5', 'stores and shows no secret of cross-app access and DPoP readably', async () => {
  const { provider, as, app, bound } = await openServers();
  const secret = '${CLIENT_SECRET}';
  const oauth = { xaa: true, clientId: 'heddle', clientSecret: secret };
  const config = {
    mcpServers: { app: { type: 'http', url: app.url, oauth }, bound: { type: 'http', url: bound.url } },
    xaa: { issuer: provider.issuer, clientId: 'heddle', clientSecret: secret },
  };
  const plain = project();
  mkdirSync(plain.home, { mode: 0o700 });
  writeFileSync(join(plain.home, 'heddle.json'), JSON.stringify(config), { mode: 0o600 });
  const env = { ...plain.env, CLIENT_SECRET: CLIENT.client_secret, HEDDLE_SECRET_KEY: 'marker-of-the-vault-key' };
  const own = { ...plain, env };
  const places = new Map<string, string>();
  for (const server of ['app', 'bound']) {
    const login = await startCommand(own, ['auth', 'login', server, '--json']);
    const url = await login.url();
    const page = await scriptedBrowser().signIn(url, 'ada');
    const { code, stdout, stderr } = await login.ended();
    expect([code, stderr]).toEqual([0, expect.stringContaining(`Signed in to ${server}`)]);
    places.set(`the request of ${server}`, url).set(`the page of ${server}`, page.body);
    places.set(`the login of ${server}`, stdout + stderr);
    const called = await plain.heddle(['call', '-v', '--json', `${server}.whoami`], { env });
    expect([called.code, called.stderr, called.stdout]).toEqual([0, expect.anything(), expect.stringContaining('ada')]);
    places.set(`the call of ${server}`, called.stdout + called.stderr);
  }
  for (const words of ['auth status', 'list servers', 'doctor', 'get app', 'config explain']) {
    const { stdout, stderr } = await plain.heddle([...words.split(' '), '--json'], { env });
    places.set(words, stdout + stderr);
  }
  const store = await openStore({ location: join(plain.home, 'heddle.sqlite'), home: plain.home, env });
  const grant = await store.vault.find(bound.url, SHARED_PRINCIPAL);
  await store.close();
  expect(grant?.tokenType).toBe('DPoP');
  const secrets = new Map([
    ...[...secretsOf(provider)].map(([name, value]) => [`provider ${name}`, value] as const),
    ...secretsOf(as),
    ...[
      ['client secret', CLIENT.client_secret] as const,
      ['vault key', 'marker-of-the-vault-key'] as const,
      ['DPoP key', String(grant?.dpopKey?.d)] as const,
    ],
  ]);
  const kinds = new Set([...secrets.keys()].map((name) => name.replace(/ \d+$/, '')));
  for (const kind of [
    'provider id_token',
    'provider subject_token',
    'provider access_token',
    'assertion',
    'access_token',
  ])
    expect(kinds).toContain(kind);
  expect(findLeaks(secrets, new Map([...places, ...filesBelow(dirname(plain.home))]))).toEqual([]);
});
