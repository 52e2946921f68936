import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { HeddleError } from '../../core/errors.ts';
import { isObject, parseJson } from '../../core/json.ts';
import { quoteName } from '../../core/text/visible-text.ts';
import { withFileLock } from '../../files/file-lock.ts';
import { writePrivateFile } from '../../files/private-file.ts';
import { findSecretKey, type KeyPlace } from './secret-key.ts';
import { type Sealed, sealSecret, unseal } from './secret-seal.ts';
import type { Secrets } from './secrets.ts';

interface SecretFile {
  readonly version: 1;
  readonly salt: string;
  /** A value that only the right key decrypts, to tell a wrong key from a damaged entry. */
  readonly check: Sealed;
  readonly secrets: Readonly<Record<string, Sealed & { readonly at: string }>>;
}

const CHECK = 'heddle:secrets';
const SALT_BYTES = 16;

/** The path of the encrypted file in a home folder. */
export const secretFileOf = (home: string): string => join(home, 'secrets.json');

/** Secrets in a file with mode 0600, each encrypted under its name. */
export function fileSecrets(
  place: KeyPlace & { readonly clock: () => number },
): Omit<Secrets, 'backend' | 'requireName'> {
  const file = secretFileOf(place.home);
  const changed = <T>(change: (opened: Opened) => Promise<T>): Promise<T> =>
    withFileLock(file, async () => change(await openFile(file, place)));

  return {
    async get(name) {
      const stored = await readSecretFile(file);
      const sealed = stored && entryOf(stored, name);
      if (stored === undefined || sealed === undefined) return undefined;
      const value = unseal(await keyFor(stored, file, place), name, sealed);
      if (value !== undefined) return value;
      throw new HeddleError('CONFIG_INVALID', `The secret \`${name}\` in ${file} was changed and cannot be opened.`, {
        fix: `Set it again with \`heddle secret set ${quoteName(name)}\`.`,
      });
    },
    set: (name, value) =>
      changed(async ({ stored, key }) => {
        const at = new Date(place.clock()).toISOString();
        const secrets = { ...stored.secrets, [name]: { ...sealSecret(key, name, value), at } };
        await writeSecretFile(file, { ...stored, secrets });
      }),
    async names() {
      const { secrets = {} } = (await readSecretFile(file)) ?? {};
      return Object.entries(secrets).map(([name, { at }]) => ({ name, at }));
    },
    async remove(name) {
      if (!entryOf((await readSecretFile(file)) ?? { secrets: {} }, name)) return false;
      return changed(async ({ stored }) => {
        const { [name]: gone, ...secrets } = stored.secrets;
        if (gone !== undefined) await writeSecretFile(file, { ...stored, secrets });
        return gone !== undefined;
      });
    },
  };
}

interface Opened {
  readonly stored: SecretFile;
  readonly key: Buffer;
}

async function openFile(file: string, place: KeyPlace): Promise<Opened> {
  const stored = await readSecretFile(file);
  if (stored !== undefined) return { stored, key: await keyFor(stored, file, place) };
  const salt = randomBytes(SALT_BYTES);
  const key = await (await findSecretKey(place))(salt);
  return { key, stored: { version: 1, salt: salt.toString('base64'), check: sealSecret(key, CHECK, ''), secrets: {} } };
}

async function keyFor({ salt, check }: SecretFile, file: string, place: KeyPlace): Promise<Buffer> {
  const key = await (await findSecretKey(place))(Buffer.from(salt, 'base64'));
  if (unseal(key, CHECK, check) !== undefined) return key;
  const source = place.env.HEDDLE_SECRET_KEY ? 'HEDDLE_SECRET_KEY' : join(place.home, 'secret-key');
  throw new HeddleError('CONFIG_INVALID', `${file} was locked with another key than the one in ${source}.`, {
    fix: 'Give the key it was written with, or remove the file and set the secrets again.',
  });
}

function entryOf({ secrets }: Pick<SecretFile, 'secrets'>, name: string): Sealed | undefined {
  return Object.hasOwn(secrets, name) ? secrets[name] : undefined;
}

async function readSecretFile(file: string): Promise<SecretFile | undefined> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw damaged(file, `cannot be read (${error.code})`, error);
  });
  if (text === undefined) return undefined;
  try {
    const value = parseJson(text);
    if (isSecretFile(value)) return value;
  } catch (cause) {
    throw damaged(file, 'is not JSON', cause);
  }
  throw damaged(file, 'is not a file of secrets');
}

function isSecretFile(value: unknown): value is SecretFile {
  if (!isObject(value) || value.version !== 1 || typeof value.salt !== 'string') return false;
  return isSealed(value.check) && isObject(value.secrets) && Object.values(value.secrets).every(isSealed);
}

function isSealed(value: unknown): boolean {
  return isObject(value) && [value.iv, value.data, value.tag].every((part) => typeof part === 'string');
}

function damaged(file: string, how: string, cause?: unknown): HeddleError {
  return new HeddleError('CONFIG_INVALID', `${file} ${how}, so no secret can be read or set.`, {
    cause,
    fix: 'Put a good copy back, or remove the file and set the secrets again.',
  });
}

const writeSecretFile = (file: string, content: SecretFile): Promise<void> =>
  writePrivateFile(file, `${JSON.stringify(content, null, 2)}\n`);
