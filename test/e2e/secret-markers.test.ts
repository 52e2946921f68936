import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openStore } from '../../src/store/open-store.ts';
import { SHARED_PRINCIPAL } from '../../src/store/token-vault.ts';
import { verifies } from '../requirements.ts';
import { type AuthorizationServer, openAuthorizationServer } from '../servers/authorization-server.ts';
import { openProtectedServer } from '../servers/protected-server.ts';
import { scriptedBrowser } from '../servers/scripted-browser.ts';
import { type Outcome, type Project, project } from './heddle-command.ts';
import { argumentsOf, filesBelow, findLeaks, secretsOf } from './leak-search.ts';
import { browserFor } from './signing-in.ts';
import { terminal } from './terminal.ts';

const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const MARKERS = {
  secret: 'marker-of-the-client-secret',
  helper: 'marker-of-the-helper',
  key: 'marker-of-the-vault-key',
};

// With stderr, so that a failure shows it.
const FINE = { code: 0, stderr: expect.stringMatching(/^(?!error)/) };

/** Places where a secret could be shown. */
class Shown extends Map<string, string> {
  outcome(name: string, { stdout, stderr }: Outcome): this {
    const id = `${this.size} ${name}`;
    return this.set(`stdout of ${id}`, stdout).set(`stderr of ${id}`, stderr);
  }
}

async function machineKeys() {
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const publicJwk = { ...pair.publicKey.export({ format: 'jwk' }), kid: 'k', use: 'sig', alg: 'ES256' };
  const workload = await generateKeyPair('ES256');
  return {
    pem: pair.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    publicJwk,
    workload: workload.privateKey,
    trusted: { issuer: 'https://platform.example', publicJwk: await exportJWK(workload.publicKey) },
  };
}

/** Starts the servers, and a project with one server per kind of credential. */
async function everyCredential() {
  const keys = await machineKeys();
  const machine = { grant_types: ['client_credentials'], redirect_uris: [], response_types: [] };
  const authorization = await openAuthorizationServer({
    clients: [
      { client_id: 'machine', client_secret: MARKERS.secret, ...machine },
      {
        ...{ client_id: 'key', ...machine, token_endpoint_auth_method: 'private_key_jwt' },
        ...{ token_endpoint_auth_signing_alg: 'ES256', jwks: { keys: [keys.publicJwk] } },
      },
      { client_id: 'pod', ...machine, grant_types: [JWT_BEARER], token_endpoint_auth_method: 'none' },
    ] as never,
    trustedIssuers: [keys.trusted],
  });
  onTestFinished(() => authorization.close());
  const servers = await Promise.all(
    Array.from({ length: 5 }, () =>
      openProtectedServer({ era: 'legacy', authorizationServers: [authorization], requiredScopes: ['mcp:read'] }),
    ),
  );
  onTestFinished(async () => void (await Promise.all(servers.map((server) => server.close()))));
  const outside = mkdtempSync(join(tmpdir(), 'heddle-markers-'));
  onTestFinished(() => rmSync(outside, { recursive: true, force: true }));
  const assertion = await new SignJWT({ jti: crypto.randomUUID() })
    .setProtectedHeader({ alg: 'ES256' })
    .setIssuer('https://platform.example')
    .setSubject('pod-1')
    .setAudience(authorization.issuer)
    .setExpirationTime('2h')
    .sign(keys.workload);
  writeFileSync(join(outside, 'assertion'), assertion);
  const [user, secret, key, pod, helper] = servers.map(({ url }) => ({ type: 'http', url }));
  const mcpServers = {
    demo: user,
    secret: {
      ...secret,
      oauth: { grant: 'client_credentials', clientId: 'machine', clientSecret: '${CLIENT_SECRET}' },
    },
    key: { ...key, oauth: { grant: 'client_credentials', clientId: 'key', privateKey: '${PRIVATE_KEY}' } },
    pod: { ...pod, oauth: { grant: 'jwt_bearer', clientId: 'pod', assertionFile: join(outside, 'assertion') } },
    helper: { ...helper, headersHelper: `printf '{"Authorization":"Bearer %s"}' "$HELPER_TOKEN"` },
  };
  const plain = project();
  mkdirSync(plain.home, { mode: 0o700 });
  writeFileSync(join(plain.home, 'heddle.json'), JSON.stringify({ mcpServers }), { mode: 0o600 });
  const env = { ...plain.env, CLIENT_SECRET: MARKERS.secret, PRIVATE_KEY: keys.pem, HELPER_TOKEN: MARKERS.helper };
  const { own, opened } = browserFor({ ...plain, env: { ...env, HEDDLE_SECRET_KEY: MARKERS.key } });
  const run = (args: readonly string[]) => plain.heddle(args, { env: own.env });
  const more = new Map([
    ...Object.entries(MARKERS),
    ['assertion', assertion],
    ['pem', String(keys.pem.split('\n')[1])],
  ]);
  return { authorization, servers, own: { ...own, heddle: run } as Project, opened, more };
}

const kindsOf = (authorization: AuthorizationServer) =>
  new Set([...secretsOf(authorization).keys()].map((name) => name.split(' ')[0]));

describe('secrets of sign-ins', () => {
  verifies('A3', 'are readable in no file, output, page, argument, error or record', async () => {
    const { authorization, servers, own, opened, more } = await everyCredential();
    const shown = new Shown();
    const run = async (...args: string[]) => {
      const outcome = await own.heddle(args);
      shown.outcome(args.join(' '), outcome);
      return outcome;
    };
    await run('call', '-v', 'demo.whoami');
    const screen = await terminal(own, ['auth', 'login', 'demo'], { rows: 40, cols: 400 });
    const url = await opened();
    shown.set('the arguments during a login', argumentsOf(own.home)).set('the authorization request', url);
    shown.set('the page after the redirect', (await scriptedBrowser().signIn(url, 'ada')).body);
    const code = await screen.ended();
    expect([code, screen.screen()]).toEqual([0, expect.stringContaining('mcp__demo__whoami')]);
    shown.set('the terminal', screen.screen());
    for (const server of ['demo', 'secret', 'key', 'pod']) {
      expect(await run('call', '-v', '--json', `${server}.whoami`)).toMatchObject(FINE);
    }
    expect((await run('call', '-v', 'helper.whoami')).code).not.toBe(0);
    // The server refuses the token once, so that it is refreshed.
    const [demo] = servers;
    if (demo) demo.faults.refusals = [{ status: 401, challenge: 'Bearer error="invalid_token"' }];
    expect(await run('call', 'demo.whoami')).toMatchObject(FINE);

    const gateway = await own.up(['--port', '0'], own.env);
    shown.set('the arguments of the gateway', argumentsOf(own.home));
    expect(await run('call', '-v', 'demo.echo', 'text=hi')).toMatchObject(FINE);
    const signIns = await fetch(new URL('/api/sign-ins', gateway.url), {
      headers: { authorization: `Bearer ${gateway.token}` },
    });
    shown.set('/api/sign-ins', await signIns.text()).set('stderr of the gateway', gateway.stderr());
    await gateway.stop();
    const shows = [
      'auth status',
      'list servers',
      'doctor',
      'get demo',
      'get secret',
      'get key',
      'config explain',
      'stats',
    ];
    for (const words of shows) await run(...words.split(' '), '--json');
    for (const words of ['auth status', 'get secret']) await run(...words.split(' '));
    await run('auth', 'rekey', '--json');

    const { refreshToken = '', accessToken = '' } = await storedGrant(own, String(demo?.url));
    const echo = { error: 'invalid_request', error_description: `The token ${refreshToken} is malformed.` };
    authorization.faults.tokenError = echo;
    const challenge = `Bearer error="invalid_token", error_description="no ${accessToken}"`;
    const refusal = { status: 401, challenge, body: { error: accessToken } };
    if (demo) demo.faults.refusals = [refusal, refusal];
    expect((await run('call', '-v', '--json', 'demo.whoami')).code).not.toBe(0);
    authorization.faults.tokenError = { error: 'invalid_client', error_description: MARKERS.secret };
    await run('auth', 'logout', 'demo', '--json');

    const kinds = ['access_token', 'refresh_token', 'code', 'code_verifier', 'assertion', 'client_assertion'];
    expect([...kindsOf(authorization)]).toEqual(expect.arrayContaining(kinds));
    const secrets = new Map([...secretsOf(authorization), ...more, ['stored access token', accessToken]]);
    const places = new Map([...shown, ...filesBelow(dirname(own.home))]);
    expect(findLeaks(secrets, places)).toEqual([]);
  });

  it('are found in every spelling', () => {
    const secret = 'token/with+signs';
    const forms = [secret, encodeURIComponent(secret), btoa(secret), Buffer.from(secret).toString('hex')];
    for (const form of forms)
      expect(findLeaks(new Map([['a', secret]]), new Map([['b', `x${form}y`]]))).toEqual(['a in b']);
    expect(findLeaks(new Map([['a', 'h.p.signature']]), new Map([['b', 'only signature']]))).toEqual(['a in b']);
    expect(findLeaks(new Map([['a', secret]]), new Map([['b', 'nothing']]))).toEqual([]);
  });
});

/** Reads the tokens of a server as Heddle does. */
async function storedGrant({ home, env }: Project, url: string) {
  const store = await openStore({ location: join(home, 'heddle.sqlite'), home, env });
  try {
    const grant = await store.vault.find(url, SHARED_PRINCIPAL);
    if (!grant) throw new Error(`No grant for ${url}`);
    return grant;
  } finally {
    await store.close();
  }
}
