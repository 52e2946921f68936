import { join } from 'node:path';
import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { temporaryHeddle } from '../../../test/temporary-heddle.ts';
import type { Caller } from '../../core/call.ts';

const RISKY = { command: process.execPath, args: [join(import.meta.dirname, '../../../test/servers/risky-tools.mjs')] };
const OWNER: Caller = { id: 'owner', roles: ['owner'], via: 'gateway' };
const CI: Caller = { id: 'key:ci', roles: ['user'], via: 'gateway', profile: 'support' };

const config = {
  mcpServers: { browser: RISKY },
  permissions: { allow: ['mcp__browser__click'], deny: ['mcp__browser__close'] },
  profiles: { support: { exclude: ['browser.type'] } },
  gateway: { apiKeys: [{ name: 'ci', sha256: 'a'.repeat(64), profile: 'support' }] },
};

verifies('G2', 'shows the permissions of a key exactly as its lists do', async () => {
  const heddle = await temporaryHeddle({ config });
  const { items } = await heddle.catalog.list(CI, {});
  const permissions = await heddle.policy.permissions(OWNER, { caller: 'key:ci' });
  const listed = permissions.filter(({ effect, kind }) => kind === 'tool' && effect !== 'deny');
  expect(listed.map(({ name }) => name)).toEqual(items.map(({ publicName }) => publicName));
  expect(listed.length).toBeGreaterThan(0);
  expect(permissions.find(({ name }) => name === 'mcp__browser__type')).toMatchObject({
    effect: 'deny',
    rule: 'profiles.support',
  });
});

verifies('G2', 'a user sees its own permissions without what is hidden from it, and no others', async () => {
  const heddle = await temporaryHeddle({ config });
  await heddle.catalog.list(CI, {});
  const own = await heddle.policy.permissions(CI, {});
  expect(own.map(({ effect }) => effect)).not.toContain('deny');
  await expect(heddle.policy.permissions(CI, { caller: 'owner' })).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
  await expect(heddle.policy.permissions(OWNER, { caller: 'key:ci', profile: 'default' })).rejects.toMatchObject({
    code: 'NAME_UNKNOWN',
  });
});
