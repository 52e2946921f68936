import { expect, vi } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { ServerConfig } from '../../config/config.ts';
import { defaultSettings } from '../../config/schema/default-settings.ts';
import type { RemoteEntry } from '../../config/schema/schema.ts';
import type { Caller } from '../../core/call.ts';
import { openSignInBench } from '../../upstream/auth/sign-in/fixtures.ts';
import { access } from '../access.ts';

const owner: Caller = { id: 'owner', roles: ['owner'], via: 'gateway' };
const ELSEWHERE = 'https://gone.example/mcp';

/** API keys over the vault of a sign-in bench, with the protected server as `demo`. */
async function open() {
  const bench = await openSignInBench();
  const { store, parts, target } = bench;
  const entry = {
    ...{ type: 'http', enabled: true, url: target.serverUrl, headers: {}, permissions: {} },
    oauth: { credentials: 'user' },
  } as unknown as RemoteEntry;
  const config: ServerConfig = { name: 'demo', scope: 'user', entry, shadowed: [] };
  const keys = access({
    ...{ store, clock: parts.clock, config: () => ({ settings: defaultSettings('/'), untrusted: [] }) },
    ...{ auth: parts, active: () => ({ configs: new Map([['demo', config]]) }) },
  });
  const signIn = async (principal: string) => {
    const own = { ...target, principal };
    await bench.finish(await bench.visit(await bench.begin({ target: own })), { target: own });
    const grant = await store.vault.find(target.serverUrl, principal);
    if (grant) await store.vault.put({ ...grant, serverUrl: ELSEWHERE }, 0);
  };
  return { ...bench, keys, signIn };
}

verifies('A6', 'revokes and removes the accounts of a revoked key, and of no other caller', async () => {
  const { as, store, keys, signIn } = await open();
  await keys.createKey(owner, { name: 'ci', roles: ['user'] });
  for (const principal of ['key:ci', 'key:ci2']) await signIn(principal);
  await keys.revokeKey(owner, 'ci');
  expect(as.counts.revocation).toBe(2);
  expect(await store.vault.serversOf('key:ci')).toEqual([]);
  expect(await store.vault.serversOf('key:ci2')).toHaveLength(2);
});

verifies('A6', 'removes the accounts of a revoked key also if the authorization server fails', async () => {
  const { as, store, keys, signIn } = await open();
  await keys.createKey(owner, { name: 'ci', roles: ['user'] });
  await signIn('key:ci');
  as.faults.revocation = 'broken';
  await keys.revokeKey(owner, 'ci');
  expect(await store.vault.serversOf('key:ci')).toEqual([]);
});

verifies('A6', 'gives a new key neither accounts nor sign-ins that an earlier one of its name left', async () => {
  const { store, target, keys, signIn, begin } = await open();
  await signIn('key:ci');
  await begin({ target: { ...target, principal: 'key:ci' } });
  await keys.createKey(owner, { name: 'ci', roles: ['user'] });
  expect(await store.vault.serversOf('key:ci')).toEqual([]);
  expect(await store.signIns.pending(target.serverUrl, 'key:ci')).toEqual([]);
});

verifies('A6', 'keeps no key whose creation failed, so that it can be created again', async () => {
  const { parts, keys } = await open();
  vi.spyOn(parts.signIns, 'abandon').mockRejectedValueOnce(new Error('The disk is full.'));
  await expect(keys.createKey(owner, { name: 'ci', roles: ['user'] })).rejects.toThrow('The disk is full.');
  expect(await keys.keys(owner)).toEqual([]);
  expect(await keys.createKey(owner, { name: 'ci', roles: ['user'] })).toMatch(/^hk_/);
});
