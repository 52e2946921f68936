import { describe, expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { AUDIENCE, tokenGateway } from '../../../test/servers/token-gateway.ts';
import { gatewayUnderTest } from '../fixtures.ts';

describe('scopes', () => {
  const scopes = { 'tools:call': 'user', 'tools:approve': 'approver', everything: 'owner' };

  verifies('P4', 'map to the configured roles, from `scope` and from `scp`', async () => {
    const { callWithClaims, gateway } = await tokenGateway({ auth: { scopes } });
    const writings = [
      { scope: 'openid tools:call tools:approve' },
      { scp: ['tools:call', 'tools:approve'] },
      { scp: 'tools:approve tools:call' },
    ];
    for (const claims of writings) expect((await callWithClaims(claims)).status).toBe(200);
    const intents = (await gateway.audit()).filter(({ name, phase }) => name === 'mcp__up__echo' && phase === 'intent');
    expect(intents.map(({ detail }) => detail.roles)).toEqual(writings.map(() => ['user', 'approver']));
  });

  verifies('P4', 'that are missing are named in the challenge', async () => {
    const { callWithClaims, gateway } = await tokenGateway({ auth: { scopes } });
    const metadata = `http://127.0.0.1:${gateway.port}/.well-known/oauth-protected-resource/mcp`;
    for (const scope of ['', 'openid', 'tools:approve', 'tools:call2', 'TOOLS:CALL']) {
      const { status, headers } = await callWithClaims({ scope });
      expect([scope, status]).toEqual([scope, 403]);
      const challenge = String(headers['www-authenticate']);
      expect(challenge).toMatch(/^Bearer error="insufficient_scope", error_description="[^"]+", /);
      expect(challenge).toContain(`scope="tools:call", resource_metadata="${metadata}"`);
    }
  });
});

describe('the protected resource metadata', () => {
  const auth = { scopes: { 'tools:call': 'user' } };

  verifies('P4', 'is named in the challenge and lists the authorization servers', async () => {
    const { gateway, issuer } = await tokenGateway({ auth, more: { profiles: { p: {} } } });
    const { port, send } = gateway;
    for (const path of ['/mcp', '/mcp/p', '/mcp/unknown']) {
      const { status, headers } = await send({ path });
      const url = `http://127.0.0.1:${port}/.well-known/oauth-protected-resource${path}`;
      expect([status, headers['www-authenticate']]).toEqual([
        401,
        `Bearer scope="tools:call", resource_metadata="${url}"`,
      ]);
      expect((await send({ method: 'GET', path: new URL(url).pathname })).json).toEqual({
        resource: AUDIENCE,
        authorization_servers: [issuer.url],
        bearer_methods_supported: ['header'],
        scopes_supported: ['tools:call'],
        resource_name: 'Heddle',
      });
    }
    const { json, status } = await send({ method: 'GET', path: '/.well-known/oauth-protected-resource' });
    expect([status, json.resource]).toEqual([200, AUDIENCE]);
  });

  verifies('P4', 'has the origin that the client uses, behind a TLS proxy too', async () => {
    const { gateway } = await tokenGateway({ auth });
    const own = await gatewayUnderTest({
      config: { gateway: { auth: { issuer: 'https://issuer.example', audience: 'api://heddle' } } },
    });
    const path = '/.well-known/oauth-protected-resource';
    expect((await own.send({ method: 'GET', path })).json.resource).toBe(own.url);
    expect(gateway.url).toMatch(/^http:/);
    const behind = await gatewayUnderTest({
      config: { gateway: { auth: { issuer: 'https://issuer.example', audience: AUDIENCE } } },
      gateway: { allowedHosts: ['gateway.example'] },
    });
    const { headers } = await behind.send({ headers: { host: 'gateway.example' } });
    expect(headers['www-authenticate']).toBe(`Bearer resource_metadata="https://gateway.example${path}/mcp"`);
  });

  verifies('P4', 'is 404 without an issuer, and 403 for a host that is not allowed', async () => {
    const path = '/.well-known/oauth-protected-resource';
    const plain = await gatewayUnderTest();
    expect((await plain.send({ method: 'GET', path })).status).toBe(404);
    const { gateway } = await tokenGateway({ auth });
    for (const headers of [{ host: 'evil.example' }, { origin: 'https://evil.example' }] as const) {
      expect((await gateway.send({ method: 'GET', path, headers: { ...headers } })).status).toBe(403);
      expect((await gateway.send({ method: 'GET', path: '/mcp/p', headers: { ...headers } })).status).toBe(403);
    }
    for (const other of [`${path}/other`, `${path}x`, '/.well-known/openid-configuration', `${path}/mcp/a/b`]) {
      expect([other, (await gateway.send({ method: 'GET', path: other })).status]).toEqual([other, 404]);
    }
    expect((await gateway.send({ method: 'POST', path })).status).toBe(405);
  });
});
