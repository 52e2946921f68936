import { describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { VERSION } from '../core/version.ts';
import { gatewayUnderTest, JSON_HEADERS } from '../gateway/fixtures.ts';

describe('the JSON API', () => {
  verifies('P4', 'tells what runs, to those who may know', async () => {
    const { send } = await gatewayUnderTest();
    const version = await send({ method: 'GET', path: '/api/version', headers: JSON_HEADERS });
    expect([version.status, version.json]).toEqual([200, { version: VERSION, pid: process.pid }]);
    const servers = await send({ method: 'GET', path: '/api/servers?x', headers: JSON_HEADERS });
    expect(servers.json).toMatchObject({ servers: [{ name: 'filesystem', scope: 'builtin', state: 'pending' }] });
    expect(servers.headers['cache-control']).toBe('no-store');
  });

  it.each([
    ['GET', '/api/nothing', 404],
    ['GET', '/api/toString', 404],
    ['GET', '/api/', 404],
    ['POST', '/api/version', 405],
    ['DELETE', '/api/servers', 405],
  ])('answers %s %s with %i', async (method, path, status) => {
    const { send } = await gatewayUnderTest();
    expect((await send({ method, path, headers: JSON_HEADERS })).status).toBe(status);
  });
});
