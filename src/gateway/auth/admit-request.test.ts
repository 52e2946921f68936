import { describe, expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { gatewayUnderTest, JSON_HEADERS, TOKEN } from '../fixtures.ts';

const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });

describe('admitRequest', () => {
  const WRONG: readonly (readonly [string, string | undefined])[] = [
    ['no token', undefined],
    ['a wrong token', 'Bearer wrong'],
    ['a wrong token of the same length', `Bearer ${'x'.repeat(TOKEN.length)}`],
    ['the token with a tail', `Bearer ${TOKEN}x`],
    ['half the token', `Bearer ${TOKEN.slice(0, -1)}`],
    ['another scheme', `Basic ${TOKEN}`],
    ['the bare token', TOKEN],
    ['nothing after the scheme', 'Bearer '],
  ];

  for (const [what, authorization] of WRONG) {
    verifies('P4', `refuses ${what} on every path and names the Authorization header`, async () => {
      const { send } = await gatewayUnderTest();
      const headers = { 'content-type': 'application/json', ...(authorization !== undefined && { authorization }) };
      for (const path of ['/mcp', '/api/servers', '/', '/nothing']) {
        const { status, headers: received, json } = await send({ path, headers, body });
        expect([path, status, received['www-authenticate']]).toEqual([path, 401, 'Bearer']);
        expect(json.error).toMatch(/Authorization: Bearer/);
        expect(String(json.error).startsWith('The credential is unknown')).toBe(authorization !== undefined);
      }
    });
  }

  verifies('P4', 'accepts the owner token, and responds with 404 for an unknown path', async () => {
    const { send } = await gatewayUnderTest();
    expect((await send({ headers: JSON_HEADERS, body })).json).toEqual({ jsonrpc: '2.0', id: 1, result: {} });
    expect((await send({ path: '/mcp?x=1', headers: JSON_HEADERS, body })).status).toBe(200);
    expect((await send({ path: '/nothing', headers: JSON_HEADERS, body })).status).toBe(404);
    expect((await send({ path: '/mcp/', headers: JSON_HEADERS, body })).status).toBe(404);
  });

  verifies('P4', 'serves /healthz without a token, to an allowed host only', async () => {
    const { send } = await gatewayUnderTest();
    expect((await send({ method: 'GET', path: '/healthz' })).json).toEqual({ status: 'ok' });
    expect((await send({ method: 'GET', path: '/healthz', headers: { host: 'evil.example' } })).status).toBe(403);
  });
});

describe('admitRequest checks Host and Origin', () => {
  const rules = { allowedHosts: ['Gateway.Example', 'other.example:8080'], allowedOrigins: ['https://app.example'] };

  it.each([
    ['127.0.0.1', undefined, 200],
    ['127.0.0.1:1', undefined, 200],
    ['LOCALHOST:99', undefined, 200],
    ['[::1]:7433', undefined, 200],
    ['gateway.example', undefined, 200],
    ['gateway.example:443', undefined, 200],
    ['other.example:8080', undefined, 200],
    ['other.example', undefined, 403],
    ['other.example:8081', undefined, 403],
    ['evil.example', undefined, 403],
    ['localhost.evil.example', undefined, 403],
    ['127.0.0.1.evil.example', undefined, 403],
    ['127.0.0.1:80:80', undefined, 403],
    ['127.1', undefined, 403],
    ['0.0.0.0', undefined, 403],
    ['localhost:99', 'http://localhost:99', 200],
    ['localhost:99', 'https://app.example', 200],
    ['localhost:99', 'http://localhost:98', 403],
    ['localhost:99', 'https://localhost:99', 403],
    ['localhost:99', 'http://evil.example', 403],
    ['localhost:99', 'https://app.example.evil.example', 403],
    ['localhost:99', 'null', 403],
    ['localhost:99', '', 403],
  ])('P4: host %j and origin %j: status %i', async (host, origin, expected) => {
    const { send } = await gatewayUnderTest({ gateway: rules });
    const headers = { ...JSON_HEADERS, host, ...(origin !== undefined && { origin }) };
    const { status, json } = await send({ headers, body });
    expect(status).toBe(expected);
    if (expected === 403) expect(json.error).toMatch(/gateway\.allowed(Hosts|Origins)/);
  });
});
