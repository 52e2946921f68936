import { describe, expect, it } from 'vitest';
import { machineWith } from '../../src/config/fixtures.ts';
import { verifies } from '../requirements.ts';

const SHA = 'a'.repeat(64);

async function settingsOf(heddle: object) {
  const machine = await machineWith({ 'project/heddle.json': heddle });
  const { settings, problems } = await machine.load();
  return { settings, messages: problems.map(({ message, fix }) => `${message} ${fix}`) };
}

describe('gateway credentials', () => {
  verifies('C14', 'are configured by keys and issuers, with the role `user` as default', async () => {
    const auth = { issuer: '${ISSUER:-https://id.example}', audience: 'https://gateway.example/mcp' };
    const { settings, messages } = await settingsOf({ gateway: { auth, apiKeys: [{ name: 'ci', sha256: SHA }] } });
    expect(messages).toEqual([]);
    expect(settings.gateway.apiKeys).toEqual([{ name: 'ci', sha256: SHA, roles: ['user'] }]);
    expect(settings.gateway.auth).toEqual({
      issuer: 'https://id.example',
      audience: auth.audience,
      scopes: {},
      algorithms: ['RS256', 'PS256', 'ES256', 'EdDSA'],
    });
    expect((await settingsOf({})).settings.gateway).toMatchObject({ apiKeys: [] });
  });

  it.each<[string, object, RegExp]>([
    ['a plain key', { apiKeys: [{ name: 'ci', sha256: 'hk_plain' }] }, /apiKeys\[0\]\.sha256` must be the SHA-256/],
    [
      'a key without a digest',
      { apiKeys: [{ name: 'ci', key: 'hk_plain' }] },
      /`gateway\.apiKeys\[0\]\.key` is not a name/,
    ],
    ['an unknown role', { apiKeys: [{ name: 'ci', sha256: SHA, roles: ['admin'] }] }, /must be one of `owner`/],
    ['no roles', { apiKeys: [{ name: 'ci', sha256: SHA, roles: [] }] }, /roles` must have at least 1 item/],
    ['another text than none', { auth: 'off' }, /must be `"none"`, or an object with `issuer`/],
    [
      'an issuer without an audience',
      { auth: { issuer: 'https://a.example' } },
      /`gateway\.auth\.audience` is missing/,
    ],
    ['an issuer that is no address', { auth: { issuer: 'a', audience: 'x' } }, /`gateway\.auth\.issuer` is not a URL/],
    ['a misspelt field', { auth: { isuer: 'x', audience: 'x' } }, /`gateway\.auth\.isuer` is not a name Heddle knows/],
    [
      'a secret signature',
      { auth: { issuer: 'https://a.example', audience: 'x', algorithms: ['HS256'] } },
      /algorithms\[0\]` must be one of/,
    ],
    [
      'a scope with a space',
      { auth: { issuer: 'https://a.example', audience: 'x', scopes: { 'a b': 'user' } } },
      /must be a scope without spaces/,
    ],
  ])('C14: %s is rejected with a message, and accepts no client', async (_name, gateway, message) => {
    const { settings, messages } = await settingsOf({ gateway });
    expect(messages.join('\n')).toMatch(message);
    expect([settings.gateway.auth, settings.gateway.apiKeys]).toEqual([undefined, []]);
  });
});

describe('profiles', () => {
  verifies('P2', 'of several files are merged by name, each as a whole from the first file that has it', async () => {
    const machine = await machineWith({
      'project/heddle.json': { profiles: { both: { servers: ['a'] }, ours: {} } },
      'user/.heddle/heddle.json': { profiles: { both: { tools: ['x'] }, theirs: { naming: 'bare' } } },
    });
    const { profiles } = (await machine.load()).settings;
    expect(Object.keys(profiles).toSorted()).toEqual(['both', 'ours', 'theirs']);
    expect(profiles.both).toEqual({
      servers: ['a'],
      naming: 'full',
      exposure: 'direct',
      permissions: { allow: [], ask: [], deny: [] },
    });
    expect(profiles.theirs?.naming).toBe('bare');
  });

  it.each<[string, object, RegExp]>([
    ['an odd name', { 'a b': {} }, /`profiles\.a b` must be up to 64 letters/],
    ['a misspelt field', { p: { servrs: [] } }, /`profiles\.p\.servrs` is not a name.*Did you mean `servers`/],
    ['an exposure that does not exist yet', { p: { exposure: 'search' } }, /`profiles\.p\.exposure` must be/],
  ])('P2: with %s are all rejected with a message', async (_name, profiles, message) => {
    const { settings, messages } = await settingsOf({ profiles: { good: {}, ...profiles } });
    expect(messages.join('\n')).toMatch(message);
    expect(settings.profiles).toEqual({});
  });

  verifies('P2', 'do not allow more on a managed machine, and have no effect in an untrusted project', async () => {
    const profiles = { loose: { permissions: { allow: ['mcp__x'] } } };
    const managed = await machineWith({
      'etc/managed-mcp.json': { mcpServers: {} },
      'user/.heddle/heddle.json': { profiles },
    });
    const { settings, problems } = await managed.load();
    expect(settings.profiles).toEqual({});
    expect(problems.map(({ message }) => message)).toEqual([expect.stringContaining('`profiles` has no effect')]);
    const project = await machineWith({
      'project/heddle.json': { profiles: { p: { auth: 'none' } }, gateway: { auth: 'none' } },
    });
    const untrusted = await project.load({ trust: async () => ({ trusts: () => false }) });
    expect([untrusted.settings.profiles, untrusted.settings.gateway.auth]).toEqual([{}, undefined]);
  });
});
