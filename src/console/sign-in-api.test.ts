import { createHash } from 'node:crypto';
import { describe, expect, it, onTestFinished } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { openAuthorizationServer } from '../../test/servers/authorization-server.ts';
import { openProtectedServer } from '../../test/servers/protected-server.ts';
import { scriptedBrowser } from '../../test/servers/scripted-browser.ts';
import { type GatewayUnderTest, gatewayUnderTest, JSON_HEADERS } from '../gateway/fixtures.ts';

const KEYS = { operator: 'hk_operator', auditor: 'hk_auditor', user: 'hk_user' } as const;
const REDIRECT = 'http://127.0.0.1:9/callback';

/** A gateway with the server `demo`, whose credentials are shared, and `mine`, with one account per caller. */
async function open() {
  const authorization = await openAuthorizationServer();
  onTestFinished(() => authorization.close());
  const server = await openProtectedServer({
    era: 'legacy',
    authorizationServers: [authorization],
    requiredScopes: ['mcp:read'],
  });
  onTestFinished(() => server.close());
  const apiKeys = Object.entries(KEYS).map(([name, key]) => ({
    ...{ name, roles: [name] },
    sha256: createHash('sha256').update(key).digest('hex'),
  }));
  const mcpServers = {
    demo: { type: 'http', url: server.url },
    mine: { type: 'http', url: server.url, oauth: { credentials: 'user' } },
  };
  const gateway = await gatewayUnderTest({ config: { mcpServers, gateway: { apiKeys } } });
  return { gateway, authorization };
}

interface PostBody {
  readonly as?: keyof typeof KEYS;
  readonly [field: string]: unknown;
}

async function post({ send }: GatewayUnderTest, action: string, { as, ...body }: PostBody) {
  const headers = { ...JSON_HEADERS, ...(as && { authorization: `Bearer ${KEYS[as]}` }) };
  const { status, json } = await send({ path: `/api/sign-ins/${action}`, headers, body: JSON.stringify(body) });
  return { status, json };
}

async function list({ send }: GatewayUnderTest, as?: keyof typeof KEYS) {
  const headers = { ...JSON_HEADERS, ...(as && { authorization: `Bearer ${KEYS[as]}` }) };
  const { json } = await send({ method: 'GET', path: '/api/sign-ins', headers });
  return (json.signIns as { server: string; principal: string; state: string }[]).map(
    ({ server, principal, state }) => `${server} ${principal} ${state}`,
  );
}

describe('/api/sign-ins', () => {
  verifies('A2', 'begins and finishes a sign-in with shared credentials, and audits both', async () => {
    const { gateway, authorization } = await open();
    const begun = await post(gateway, 'begin', { as: 'operator', server: 'demo', redirectUri: REDIRECT });
    expect(begun).toMatchObject({ status: 200, json: { server: 'demo', redirectUri: REDIRECT, earlier: 0 } });
    const { url, state } = begun.json as { url: string; state: string };
    expect(await list(gateway, 'auditor')).toContain('demo shared in-progress');
    const redirected = await scriptedBrowser().signIn(url, 'ada', REDIRECT);
    const ended = { as: 'operator', server: 'demo', query: new URL(redirected.url).search, state } as const;
    const finished = await post(gateway, 'finish', ended);
    expect(finished).toMatchObject({ status: 200, json: { state: 'signed-in', issuer: authorization.issuer } });
    expect(await list(gateway)).toContain('demo shared signed-in');
    expect(await post(gateway, 'finish', ended)).toMatchObject({ status: 502, json: { code: 'AUTH_REFUSED' } });
    expect(await post(gateway, 'forget', { server: 'demo' })).toMatchObject({
      json: { server: 'demo', removed: true, revoked: true },
    });
    const records = (await gateway.audit()).filter(({ name }) => name.startsWith('signIns.')).toReversed();
    expect(records.map(({ name, phase, caller, detail }) => [name, phase, caller, detail?.outcome])).toEqual([
      ['signIns.begin', 'intent', 'key:operator', undefined],
      ['signIns.begin', 'outcome', 'key:operator', 'ok'],
      ['signIns.finish', 'intent', 'key:operator', undefined],
      ['signIns.finish', 'outcome', 'key:operator', 'ok'],
      ['signIns.finish', 'intent', 'key:operator', undefined],
      ['signIns.finish', 'outcome', 'key:operator', 'AUTH_REFUSED'],
      ['signIns.forget', 'intent', 'owner', undefined],
      ['signIns.forget', 'outcome', 'owner', 'ok'],
    ]);
    expect(JSON.stringify([records, finished])).not.toMatch(/"(access|refresh)_?token"|code=/i);
  });

  verifies('A2', 'lets callers without a role sign in for themselves only', async () => {
    const { gateway } = await open();
    const shared = { as: 'user', server: 'demo', redirectUri: REDIRECT } as const;
    expect(await post(gateway, 'begin', shared)).toMatchObject({ status: 403, json: { code: 'PERMISSION_DENIED' } });
    expect(await post(gateway, 'forget', { as: 'auditor', server: 'demo' })).toMatchObject({ status: 403 });
    expect(await post(gateway, 'begin', { server: 'mine', redirectUri: REDIRECT })).toMatchObject({ status: 200 });
    expect(await list(gateway)).toContain('mine owner in-progress');
    expect(await list(gateway, 'user')).toEqual(['mine key:user none']);
  });

  verifies('A6', 'sends callers with an account of their own to the page: a forwarded URL is refused', async () => {
    const { gateway } = await open();
    const redirectUri = 'https://attacker.example/callback';
    for (const as of ['user', 'operator'] as const) {
      const begun = await post(gateway, 'begin', { as, server: 'mine', redirectUri });
      expect(begun).toMatchObject({ status: 403, json: { code: 'PERMISSION_DENIED' } });
      const finished = await post(gateway, 'finish', { as, server: 'mine', query: 'code=a&state=b' });
      expect(finished).toMatchObject({ status: 403, json: { code: 'PERMISSION_DENIED' } });
    }
    expect(await list(gateway, 'user')).toEqual(['mine key:user none']);
  });

  verifies('A2', 'removes the record of a cancelled sign-in', async () => {
    const { gateway } = await open();
    const { json } = await post(gateway, 'begin', { server: 'demo', redirectUri: REDIRECT });
    expect(await post(gateway, 'cancel', { server: 'demo', state: json.state })).toMatchObject({ status: 200 });
    expect(await list(gateway)).toContain('demo shared none');
    const query = `code=x&state=${json.state}`;
    expect(await post(gateway, 'finish', { server: 'demo', query })).toMatchObject({ json: { code: 'AUTH_REFUSED' } });
  });

  it.each([
    ['an unknown server', 'begin', { server: 'none', redirectUri: REDIRECT }, 404],
    ['a server without a sign-in', 'begin', { server: 'filesystem', redirectUri: REDIRECT }, 400],
    ['a redirect in plain http', 'begin', { server: 'demo', redirectUri: 'http://evil.example/' }, 400],
    ['a redirect with a fragment', 'begin', { server: 'demo', redirectUri: 'https://a.example/#x' }, 400],
    ['no redirect', 'begin', { server: 'demo' }, 400],
    ['an unknown field', 'forget', { server: 'demo', principal: 'key:user' }, 400],
    ['a field that is no text', 'finish', { server: 'demo', query: 1 }, 400],
    ['a state of no sign-in', 'finish', { server: 'demo', query: 'code=a&state=b' }, 502],
    ['an unknown action', 'toString', {}, 404],
  ])('A2: refuses %s', async (_, action, body, status) => {
    const { gateway } = await open();
    expect((await post(gateway, action, body)).status).toBe(status);
  });

  it('A2: answers other methods with 405', async () => {
    const { gateway } = await open();
    const send = (method: string, path: string) => gateway.send({ method, path, headers: JSON_HEADERS });
    expect((await send('POST', '/api/sign-ins')).status).toBe(405);
    expect((await send('GET', '/api/sign-ins/begin')).status).toBe(405);
  });
});
