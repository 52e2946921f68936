import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../test/temporary-heddle.ts';
import { configDigest } from './config-digest.ts';
import { readConfig } from './read-config.ts';

const WRITTEN = { mcpServers: { one: { command: 'true', env: { KEY: '${KEY:-none}' } } }, mode: 'strict' };

/** Reads a configuration and returns its digest. */
async function digestOf(written: object, env: Record<string, string> = {}, trustProject = true): Promise<string> {
  const cwd = await temporaryFolder();
  await writeFile(join(cwd, 'heddle.json'), JSON.stringify(written, null, 2));
  const config = await readConfig({ cwd, env: { HEDDLE_HOME: join(cwd, 'home'), ...env }, trustProject });
  const { filesystem } = config.settings.builtins;
  // The folder differs in each test.
  const settings = {
    ...config.settings,
    builtins: { ...config.settings.builtins, filesystem: { ...filesystem, allowedPaths: [] } },
  };
  return configDigest({ ...config, settings }, 'key');
}

it('is equal for the same configuration', async () => {
  expect(await digestOf(WRITTEN)).toBe(await digestOf({ ...WRITTEN, gateway: { port: 7000 } }));
});

it.each([
  ['a server', { ...WRITTEN, mcpServers: { two: { command: 'true' } } }, {}, true],
  ['a setting', { ...WRITTEN, mode: 'open' }, {}, true],
  ['the value of a variable', WRITTEN, { KEY: 'secret' }, true],
  ['a trust decision', WRITTEN, {}, false],
  ['the store', { ...WRITTEN, store: '/tmp/other.sqlite' }, {}, true],
] as const)('differs with %s', async (_, written, env, trusted) => {
  expect(await digestOf(written, env, trusted)).not.toBe(await digestOf(WRITTEN));
});

it('depends on the key, and shows no value', async () => {
  const config = { servers: new Map(), settings: {} as never };
  expect(configDigest(config, 'one')).not.toBe(configDigest(config, 'two'));
  expect(configDigest(config, 'one')).toMatch(/^[\w-]{43}$/);
});
