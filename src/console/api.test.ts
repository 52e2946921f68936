import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { recordingServer, text } from '../../test/servers/recording-server.ts';
import { VERSION } from '../core/version.ts';
import { gatewayUnderTest, JSON_HEADERS, TOKEN } from '../gateway/fixtures.ts';

describe('the JSON API', () => {
  verifies('P4', 'shows version and servers to a caller with the role', async () => {
    const { send } = await gatewayUnderTest();
    const version = await send({ method: 'GET', path: '/api/version', headers: JSON_HEADERS });
    expect([version.status, version.json]).toEqual([200, { version: VERSION, pid: process.pid }]);
    const servers = await send({ method: 'GET', path: '/api/servers?x', headers: JSON_HEADERS });
    expect(servers.json).toMatchObject({ servers: [{ name: 'filesystem', scope: 'builtin', state: 'pending' }] });
    expect(servers.headers['cache-control']).toBe('no-store');
  });

  verifies('P2', 'shows a key with a profile only the servers of that profile', async () => {
    const key = 'hk_auditor-of-one-profile';
    const sha256 = createHash('sha256').update(key).digest('hex');
    const gone = 'hk_auditor-of-a-removed-profile';
    const goneSha256 = createHash('sha256').update(gone).digest('hex');
    const { send } = await gatewayUnderTest({
      servers: { shown: recordingServer({ a: () => text('a') }), hidden: recordingServer({ b: () => text('b') }) },
      config: {
        profiles: { some: { servers: ['shown'] } },
        gateway: {
          apiKeys: [
            { name: 'one', sha256, roles: ['auditor'], profile: 'some' },
            { name: 'two', sha256: goneSha256, roles: ['auditor'], profile: 'removed' },
          ],
        },
      },
    });
    const namesFor = async (credential: string) => {
      const headers = { ...JSON_HEADERS, authorization: `Bearer ${credential}` };
      const { json } = await send({ method: 'GET', path: '/api/servers', headers });
      return (json.servers as { name: string }[]).map(({ name }) => name);
    };
    expect(await namesFor(key)).toEqual(['shown']);
    expect(await namesFor(gone)).toEqual([]);
    expect(await namesFor(TOKEN)).toEqual(['shown', 'hidden', 'filesystem']);
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
