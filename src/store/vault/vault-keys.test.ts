import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { Keyring } from '../secrets/secret-keychain.ts';
import { passingKeys, type VaultKeyOptions, vaultKeys } from './vault-keys.ts';

const SALT = 'ab'.repeat(16);
const HEX_KEY = 'cd'.repeat(32);

async function newHome(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'heddle-vault-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return join(folder, 'home');
}

const keysOf = (home: string, change: Partial<VaultKeyOptions> = {}) =>
  vaultKeys({ home, env: {}, keyring: async () => undefined, salt: async () => SALT, ...change });

/** A keychain in memory. `works: false` answers every request with an error. */
function keychain({ works = true, forgets = false } = {}) {
  const kept = new Map<string, string>();
  class AsyncEntry {
    readonly #id: string;
    constructor(service: string, account: string) {
      this.#id = `${service}\0${account}`;
    }
    async getPassword() {
      if (!works) throw new Error('locked');
      return kept.get(this.#id) ?? null;
    }
    async setPassword(value: string) {
      if (!forgets) kept.set(this.#id, value);
    }
    async deletePassword() {
      return kept.delete(this.#id);
    }
  }
  const load = async (): Promise<Keyring> => ({ AsyncEntry, findCredentialsAsync: async () => [] });
  return { kept, load };
}

verifies('A3', 'takes the key of HEDDLE_SECRET_KEY before a file, and a file before the keychain', async () => {
  const home = await newHome();
  const { kept, load: keyring } = keychain();
  const fromKeychain = await keysOf(home, { keyring }).current();
  expect([kept.size, await readdir(home).catch(() => [])]).toEqual([1, []]);
  expect(await keysOf(home, { keyring }).current()).toEqual(fromKeychain);

  await mkdir(home, { recursive: true });
  await writeFile(join(home, 'secret-key'), HEX_KEY, { mode: 0o600 });
  const fromFile = await keysOf(home, { keyring }).current();
  expect(fromFile.bytes.toString('hex')).toBe(HEX_KEY);
  expect(fromFile.name).not.toBe(fromKeychain.name);

  const env = { HEDDLE_SECRET_KEY: 'ef'.repeat(32) };
  const keys = keysOf(home, { keyring, env });
  expect((await keys.current()).bytes.toString('hex')).toBe(env.HEDDLE_SECRET_KEY);
  for (const other of [fromFile, fromKeychain]) expect(await keys.named(other.name)).toEqual(other);
  expect(await keys.named('0123456789abcdef')).toBeUndefined();
});

verifies('A3', 'makes a key file with mode 0600 if no keychain answers or the keychain forgets', async () => {
  for (const keyring of [keychain({ works: false }).load, keychain({ forgets: true }).load, async () => undefined]) {
    const home = await newHome();
    const key = await keysOf(home, { keyring }).current();
    const file = join(home, 'secret-key');
    expect(Buffer.from(await readFile(file, 'utf8'), 'base64')).toEqual(key.bytes);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await keysOf(home, { keyring }).named(key.name)).toEqual(key);
    expect(await readdir(home)).toEqual(['secret-key']);
  }
});

it('makes no key when it looks for one by its name', async () => {
  const home = await newHome();
  const { kept, load: keyring } = keychain();
  expect(await keysOf(home, { keyring }).named('0123456789abcdef')).toBeUndefined();
  await expect(stat(home)).rejects.toThrow();
  expect(kept.size).toBe(0);
});

it('refuses a key file that others can read, and succeeds after chmod', async () => {
  const home = await newHome();
  const first = await keysOf(home).current();
  await chmod(join(home, 'secret-key'), 0o640);
  const keys = keysOf(home);
  await expect(keys.current()).rejects.toMatchObject({ code: 'CONFIG_INVALID', fix: expect.stringContaining('chmod') });
  await chmod(join(home, 'secret-key'), 0o600);
  expect(await keys.current()).toEqual(first);
});

verifies('A3', 'derives a passphrase once per process, with the salt of the database', async () => {
  const env = { HEDDLE_SECRET_KEY: 'correct horse battery staple' };
  const home = await newHome();
  let reads = 0;
  const salt = async () => {
    reads++;
    return SALT;
  };
  const keys = keysOf(home, { env, salt });
  const [one, two] = await Promise.all([keys.current(), keys.current()]);
  expect([one, reads]).toEqual([two, 1]);
  // A second store of the process gets the same buffer: it was not derived again.
  expect((await keysOf(home, { env }).current()).bytes).toBe(one.bytes);
  expect((await keysOf(home, { env, salt: async () => 'cd'.repeat(16) }).current()).name).not.toBe(one.name);
  await expect(stat(home)).rejects.toThrow();
});

it('makes one key when several processes and calls start at the same time', async () => {
  const home = await newHome();
  const program = `import { vaultKeys } from ${JSON.stringify(join(import.meta.dirname, 'vault-keys.ts'))};
    const keys = vaultKeys({ home: ${JSON.stringify(home)}, env: {}, keyring: async () => undefined, salt: async () => '' });
    process.stdout.write((await keys.current()).name);`;
  const names = await Promise.all(
    [1, 2, 3].map(async () => {
      const child = spawn(process.execPath, ['--input-type=module', '-e', program]);
      let name = '';
      child.stdout.on('data', (data) => {
        name += data;
      });
      const [code] = await once(child, 'close');
      return `${code} ${name}`;
    }),
  );
  const { name } = await keysOf(home).current();
  expect(names).toEqual([`0 ${name}`, `0 ${name}`, `0 ${name}`]);
  const { kept, load: keyring } = keychain();
  const elsewhere = await newHome();
  const both = await Promise.all([1, 2].map(() => keysOf(elsewhere, { keyring }).current()));
  expect([both[0]?.name, kept.size]).toEqual([both[1]?.name, 1]);
});

it('has a name that reveals nothing of the key, and one of its own for a store in memory', async () => {
  const key = await passingKeys().current();
  expect(key.name).toMatch(/^[0-9a-f]{16}$/);
  expect(key.bytes.toString('hex')).not.toContain(key.name);
  expect((await passingKeys().current()).name).not.toBe(key.name);
});
