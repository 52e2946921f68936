import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { HeddleError } from '../../core/errors.ts';
import { openSecrets, readSecretsFor } from './open-secrets.ts';
import type { Keyring } from './secret-keychain.ts';

const VALUE = 'hunter2-Ω-value';
const HEX_KEY = 'ab'.repeat(32);

async function newHome(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'heddle-secret-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return join(folder, 'home');
}
const fileOf = (home: string) => join(home, 'secrets.json');
const none = async () => undefined;
const open = (home: string, env: Record<string, string> = {}) => openSecrets({ home, env, keyring: none });
const modeOf = async (file: string) => ((await stat(file)).mode & 0o777).toString(8);

async function failure(promise: Promise<unknown>): Promise<HeddleError> {
  const thrown = await promise.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!HeddleError.is(thrown)) throw new Error(`not a HeddleError: ${thrown}`);
  const said = JSON.stringify([thrown.message, thrown.fix, thrown.details, thrown.stack, String(thrown.cause)]);
  expect(said).not.toContain(VALUE);
  return thrown;
}

verifies('A3', 'keeps a secret encrypted, in files with mode 0600', async () => {
  const home = await newHome();
  await (await open(home)).set('github.TOKEN', VALUE);
  const again = await open(home);
  expect(again.backend).toBe('file');
  expect(await again.get('github.TOKEN')).toBe(VALUE);
  expect(await again.get('other')).toBeUndefined();
  const text = await readFile(fileOf(home), 'utf8');
  expect(text).not.toContain(VALUE);
  expect(text).not.toContain(Buffer.from(VALUE).toString('base64'));
  expect(await modeOf(fileOf(home))).toBe('600');
  expect(await modeOf(join(home, 'secret-key'))).toBe('600');
  expect(await modeOf(home)).toBe('700');
  expect((await readdir(home)).sort()).toEqual(['secret-key', 'secrets.json']);
});

it('lists names and dates in order, and removes a secret', async () => {
  const home = await newHome();
  const secrets = await openSecrets({ home, env: {}, keyring: none, clock: () => 0 });
  await secrets.set('b', VALUE);
  await secrets.set('a', VALUE);
  const at = '1970-01-01T00:00:00.000Z';
  expect(await secrets.names()).toEqual([
    { name: 'a', at },
    { name: 'b', at },
  ]);
  expect(await secrets.remove('b')).toBe(true);
  expect(await secrets.remove('b')).toBe(false);
  expect((await secrets.names()).map(({ name }) => name)).toEqual(['a']);
});

it('creates no file on a read', async () => {
  const home = await newHome();
  const secrets = await open(home);
  expect(await secrets.get('a')).toBeUndefined();
  expect(await secrets.names()).toEqual([]);
  expect(await secrets.remove('a')).toBe(false);
  await expect(stat(home)).rejects.toThrow();
});

it.each([
  ['hex', HEX_KEY],
  ['base64', Buffer.from(HEX_KEY, 'hex').toString('base64')],
  ['a passphrase', 'correct horse battery staple'],
])('takes the key from HEDDLE_SECRET_KEY as %s and creates no key file', async (_, key) => {
  const home = await newHome();
  await (await open(home, { HEDDLE_SECRET_KEY: key })).set('a', VALUE);
  expect(await (await open(home, { HEDDLE_SECRET_KEY: key })).get('a')).toBe(VALUE);
  expect(await readdir(home)).toEqual(['secrets.json']);
});

it.each([undefined, 'cd'.repeat(32), 'another phrase'])('reports a wrong key (%s)', async (key) => {
  const home = await newHome();
  await (await open(home, { HEDDLE_SECRET_KEY: HEX_KEY })).set('a', VALUE);
  const other = await open(home, key === undefined ? {} : { HEDDLE_SECRET_KEY: key });
  for (const attempt of [() => other.get('a'), () => other.set('b', VALUE)]) {
    const error = await failure(attempt());
    expect(error).toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining('another key') });
    expect(error.message).not.toContain(key ?? HEX_KEY);
  }
  expect(await (await open(home, { HEDDLE_SECRET_KEY: HEX_KEY })).get('a')).toBe(VALUE);
});

it('names a secret that was tampered with and decrypts the others', async () => {
  const home = await newHome();
  const secrets = await open(home);
  await secrets.set('a', VALUE);
  await secrets.set('b', 'fine');
  const stored = JSON.parse(await readFile(fileOf(home), 'utf8'));
  const flipped = Buffer.from(stored.secrets.a.data, 'base64');
  flipped[0] = (flipped[0] ?? 0) ^ 1;
  stored.secrets.a.data = flipped.toString('base64');
  await writeFile(fileOf(home), JSON.stringify(stored));
  expect((await failure(secrets.get('a'))).message).toContain('The secret `a`');
  expect(await secrets.get('b')).toBe('fine');
});

it('decrypts a secret under its own name only', async () => {
  const home = await newHome();
  const secrets = await open(home);
  await secrets.set('mine', VALUE);
  const stored = JSON.parse(await readFile(fileOf(home), 'utf8'));
  stored.secrets.theirs = stored.secrets.mine;
  await writeFile(fileOf(home), JSON.stringify(stored));
  expect((await failure(secrets.get('theirs'))).message).toContain('The secret `theirs`');
});

it.each(['', 'nonsense', '[]', '{"version":2}', '{"version":1,"salt":"","check":{},"secrets":{"a":1}}'])(
  'reports a file like %j as damaged and does not overwrite it',
  async (text) => {
    const home = await newHome();
    await mkdir(home);
    await writeFile(fileOf(home), text);
    const secrets = await open(home);
    expect((await failure(secrets.get('a'))).message).toContain('secrets.json');
    await failure(secrets.set('a', VALUE));
    expect(await readFile(fileOf(home), 'utf8')).toBe(text);
  },
);

it('refuses a key file that others can read, or that holds no key', async () => {
  const home = await newHome();
  const secrets = await open(home);
  await secrets.set('a', VALUE);
  await chmod(join(home, 'secret-key'), 0o644);
  expect((await failure(secrets.get('a'))).fix).toContain('chmod 600');
  await chmod(join(home, 'secret-key'), 0o600);
  await writeFile(join(home, 'secret-key'), 'short');
  expect((await failure(secrets.get('a'))).message).toContain('32 bytes');
});

it.each(['', 'a b', 'a/b', '${x}', 'x'.repeat(129), '__proto__'])('refuses %j as a name', async (name) => {
  const secrets = await open(await newHome());
  expect((await failure(secrets.set(name, VALUE))).code).toBe('USAGE_INVALID');
  expect(await secrets.get(name)).toBeUndefined();
});

it('refuses an empty value', async () => {
  expect((await failure((await open(await newHome())).set('a', ''))).code).toBe('INPUT_INVALID');
});

it('keeps every secret of concurrent writers, in this process and in others', async () => {
  const home = await newHome();
  const own = Array.from({ length: 8 }, (_, index) => `own${index}`);
  const program = `import { openSecrets } from ${JSON.stringify(join(import.meta.dirname, 'open-secrets.ts'))};
    const secrets = await openSecrets({ home: ${JSON.stringify(home)}, env: {} });
    for (const index of [0, 1, 2, 3]) await secrets.set(process.argv[1] + index, 'value');`;
  const children = ['x', 'y'].map((name) =>
    once(spawn(process.execPath, ['--input-type=module', '-e', program, name]), 'exit'),
  );
  const secrets = await open(home);
  await Promise.all(own.map((name) => secrets.set(name, VALUE)));
  for (const [code] of await Promise.all(children)) expect(code).toBe(0);
  const expected = [...own, ...['x', 'y'].flatMap((name) => [0, 1, 2, 3].map((index) => `${name}${index}`))];
  expect((await secrets.names()).map(({ name }) => name)).toEqual(expected.sort());
  expect(await secrets.get('x3')).toBe('value');
  expect((await readdir(home)).sort()).toEqual(['secret-key', 'secrets.json']);
});

it('takes over the lock of a dead process', async () => {
  const home = await newHome();
  const child = spawn(process.execPath, ['-e', '']);
  await once(child, 'exit');
  await mkdir(home);
  await writeFile(`${fileOf(home)}.lock`, `${child.pid} ${hostname()} left`);
  await (await open(home)).set('a', VALUE);
  expect((await readdir(home)).sort()).toEqual(['secret-key', 'secrets.json']);
});

it('reads many secrets at once: values, errors, and nothing for those not set', async () => {
  const home = await newHome();
  await (await open(home)).set('a', VALUE);
  const found = await readSecretsFor(['a', 'a', 'none'], { home, env: {}, keyring: none });
  expect([...found]).toEqual([['a', VALUE]]);
  const locked = await readSecretsFor(['a'], { home, env: { HEDDLE_SECRET_KEY: HEX_KEY }, keyring: none });
  expect(locked.get('a')).toMatchObject({ code: 'CONFIG_INVALID' });
  const untouched = await readSecretsFor([], { home, env: {}, keyring: () => Promise.reject(new Error('opened')) });
  expect(untouched.size).toBe(0);
});

/** A fake of the keychain package that stores values in a map. */
function keyringOf(kept: Map<string, string>, works = true): Keyring {
  const key = (service: string, account: string) => `${service}\0${account}`;
  return {
    AsyncEntry: class {
      readonly #key: string;
      constructor(service: string, account: string) {
        this.#key = key(service, account);
      }
      async getPassword() {
        if (!works) throw new Error('no keychain answers');
        return kept.get(this.#key) ?? null;
      }
      async setPassword(value: string) {
        kept.set(this.#key, value);
      }
      async deletePassword() {
        return kept.delete(this.#key);
      }
    },
    findCredentialsAsync: async (service) =>
      [...kept].flatMap(([name, password]) => {
        const [owner, account = ''] = name.split('\0');
        return owner === service ? [{ account, password }] : [];
      }),
  };
}

it('uses the keychain and no file when a keychain responds', async () => {
  const home = await newHome();
  const keyring = async () => keyringOf(new Map());
  const secrets = await openSecrets({ home, env: {}, keyring });
  expect(secrets.backend).toBe('keychain');
  const kept = new Map<string, string>();
  const lasting = await openSecrets({ home, env: {}, keyring: async () => keyringOf(kept) });
  await lasting.set('a', VALUE);
  expect(await lasting.get('a')).toBe(VALUE);
  expect(await lasting.names()).toEqual([{ name: 'a' }]);
  expect(await lasting.remove('a')).toBe(true);
  expect(await lasting.remove('a')).toBe(false);
  await expect(stat(home)).rejects.toThrow();
});

it('uses the file without a keychain, with an existing file, or with a key in the environment', async () => {
  const home = await newHome();
  const backendOf = async (env: Record<string, string>, works: boolean) =>
    (await openSecrets({ home, env, keyring: async () => keyringOf(new Map(), works) })).backend;
  expect(await backendOf({}, false)).toBe('file');
  expect(await backendOf({ HEDDLE_SECRET_KEY: HEX_KEY }, true)).toBe('file');
  expect(await backendOf({}, true)).toBe('keychain');
  await (await open(home)).set('a', VALUE);
  expect(await backendOf({}, true)).toBe('file');
});
