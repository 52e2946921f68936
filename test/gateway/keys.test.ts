import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import type { JsonObject } from '../../src/core/call.ts';
import { type GatewayUnderTest, gatewayUnderTest, modern, OWNER, openSession } from '../../src/gateway/fixtures.ts';
import { verifies } from '../requirements.ts';
import { recordingServer, text } from '../servers/recording-server.ts';

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
const sha256 = (key: string) => createHash('sha256').update(key).digest('hex');
const echo = () => recordingServer({ echo: () => text('here'), write: () => text('written') });
const callOf = (name: string) => modern('tools/call', { name, arguments: {} });

async function call({ post }: GatewayUnderTest, name: string, key: string): Promise<number> {
  const [message, headers] = callOf(name);
  return (await post(message, { ...headers, ...bearer(key) })).status;
}

verifies('P4', 'a key is accepted, and the audit log records its name and roles', async () => {
  const gateway = await gatewayUnderTest({ servers: { up: echo() } });
  const key = await gateway.heddle.access.createKey(OWNER, { name: 'ci', roles: ['approver', 'user'] });
  expect(key).toMatch(/^hk_[A-Za-z0-9_-]{43}$/);
  expect(await call(gateway, 'mcp__up__echo', key)).toBe(200);
  const records = await gateway.audit();
  const calls = records.filter(({ name }) => name === 'mcp__up__echo');
  expect(calls.map(({ caller, phase }) => [caller, phase])).toEqual([
    ['key:ci', 'outcome'],
    ['key:ci', 'intent'],
  ]);
  expect(calls[1]?.detail.roles).toEqual(['approver', 'user']);
  expect(records.filter(({ name }) => name === 'keys.create')).toMatchObject([
    { caller: 'owner', detail: { key: 'ci', roles: ['approver', 'user'] } },
  ]);
  expect(JSON.stringify(records)).not.toContain(key);
});

verifies('P4', 'a revoked key is refused at once, also within a session', async () => {
  const gateway = await gatewayUnderTest({ servers: { up: echo() } });
  const { access } = gateway.heddle;
  const key = await access.createKey(OWNER, { name: 'ci', roles: ['user'] });
  const post = (message: JsonObject, headers = {}) => gateway.post(message, { ...bearer(key), ...headers });
  const session = await openSession({ post });
  expect((await post({ id: 1, method: 'ping' }, session)).status).toBe(200);
  await access.revokeKey(OWNER, 'ci');
  expect((await post({ id: 2, method: 'ping' }, session)).status).toBe(401);
  expect(await call(gateway, 'mcp__up__echo', key)).toBe(401);
  await expect(access.revokeKey(OWNER, 'ci')).rejects.toMatchObject({ code: 'NAME_UNKNOWN' });
});

verifies('P4', 'a key of the configuration is accepted by its hash, and cannot be revoked', async () => {
  const key = 'hk_written-down-elsewhere';
  const config = { gateway: { apiKeys: [{ name: 'desk', sha256: sha256(key), roles: ['auditor', 'user'] }] } };
  const gateway = await gatewayUnderTest({ config, servers: { up: echo() } });
  const { access } = gateway.heddle;
  expect(await call(gateway, 'mcp__up__echo', key)).toBe(200);
  expect(await call(gateway, 'mcp__up__echo', sha256(key))).toBe(401);
  expect(await call(gateway, 'mcp__up__echo', `hk_${sha256(key)}`)).toBe(401);
  expect(await access.keys(OWNER)).toEqual([{ ...config.gateway.apiKeys[0], from: 'configuration' }]);
  await expect(access.revokeKey(OWNER, 'desk')).rejects.toMatchObject({
    code: 'NAME_UNKNOWN',
    fix: expect.stringContaining('gateway.apiKeys'),
  });
  const wanted = { name: 'desk', roles: ['user'] as const };
  await expect(access.createKey(OWNER, wanted)).rejects.toMatchObject({ code: 'NAME_TAKEN' });
});

it.each([
  ['an unknown key', `hk_${'A'.repeat(43)}`],
  ['the prefix alone', 'hk_'],
  ['a long key', `hk_${'A'.repeat(8000)}`],
])('P4: %s is refused', async (_what, key) => {
  const gateway = await gatewayUnderTest({ servers: { up: echo() } });
  await gateway.heddle.access.createKey(OWNER, { name: 'ci', roles: ['user'] });
  expect(await call(gateway, 'mcp__up__echo', key)).toBe(401);
});

verifies('P4', 'calling needs the role user or owner', async () => {
  const gateway = await gatewayUnderTest({ servers: { up: echo() } });
  const { access } = gateway.heddle;
  for (const role of ['approver', 'auditor', 'operator', 'user', 'owner'] as const) {
    const key = await access.createKey(OWNER, { name: role, roles: [role] });
    expect([role, await call(gateway, 'mcp__up__echo', key)]).toEqual([role, /user|owner/.test(role) ? 200 : 403]);
    const { status } = await gateway.send({ method: 'GET', path: '/api/servers', headers: bearer(key) });
    expect([role, status]).toEqual([role, /owner|operator|auditor/.test(role) ? 200 : 403]);
  }
});

verifies('P4', 'only an owner creates and revokes keys, and only owner and auditor list them', async () => {
  const { heddle } = await gatewayUnderTest();
  const denied = { code: 'PERMISSION_DENIED' };
  for (const role of ['operator', 'approver', 'auditor', 'user'] as const) {
    const by = { ...OWNER, roles: [role] };
    await expect(heddle.access.createKey(by, { name: 'x', roles: ['owner'] })).rejects.toMatchObject(denied);
    await expect(heddle.access.revokeKey(by, 'x')).rejects.toMatchObject(denied);
    if (role !== 'auditor') await expect(heddle.access.keys(by)).rejects.toMatchObject(denied);
  }
  expect(await heddle.access.keys({ ...OWNER, roles: ['auditor'] })).toEqual([]);
});
