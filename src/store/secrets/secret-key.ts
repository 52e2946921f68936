import { createHash, randomBytes, scrypt } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { BoundedMap } from '../../core/bounded-map.ts';
import { HeddleError } from '../../core/errors.ts';
import { createPrivateFile } from '../../files/private-file.ts';

export interface KeyPlace {
  /** Heddle's folder of this user. */
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Derives the key for one file. A passphrase needs the salt of that file; a 32-byte key does not. */
export type KeyMaker = (salt: Buffer) => Promise<Buffer>;

const KEY_BYTES = 32;
const HEX = /^[0-9a-f]{64}$/i;
const BASE64 = /^[A-Za-z0-9+/_-]{43}=?$/;
// 32 MB and 100 ms: costly for guessing, cheap for one use.
const SCRYPT = { N: 2 ** 15, r: 8, p: 1, maxmem: 64 * 1024 * 1024 };
const OTHERS = 0o077;
const derived = new BoundedMap<string, Promise<Buffer>>(8);

/** The path of the key file in a home folder. */
export const keyFileOf = (home: string): string => join(home, 'secret-key');

/** Finds the encryption key: `HEDDLE_SECRET_KEY`, else a file with mode 0600 that is created on first use. */
export async function findSecretKey({ home, env }: KeyPlace): Promise<KeyMaker> {
  const secret = env.HEDDLE_SECRET_KEY;
  if (secret === undefined || secret === '') {
    const file = keyFileOf(home);
    const key = (await readKeyFile(file)) ?? (await makeKeyFile(file));
    return async () => key;
  }
  const whole = wholeKey(secret);
  return whole === undefined ? (salt) => deriveKey(secret, salt) : async () => whole;
}

/** Returns the 32 bytes that a text holds in hexadecimal or base64; undefined for a passphrase. */
export function wholeKey(text: string): Buffer | undefined {
  if (HEX.test(text)) return Buffer.from(text, 'hex');
  const bytes = BASE64.test(text) ? Buffer.from(text, 'base64') : Buffer.alloc(0);
  return bytes.length === KEY_BYTES ? bytes : undefined;
}

/** Derives a key from a passphrase, once per process for each salt. */
export function deriveKey(phrase: string, salt: Buffer): Promise<Buffer> {
  const id = createHash('sha256').update(salt).update(phrase).digest('base64');
  const known = derived.get(id);
  if (known) return known;
  const key = new Promise<Buffer>((resolve, reject) => {
    scrypt(phrase.normalize('NFC'), salt, KEY_BYTES, SCRYPT, (error, bytes) =>
      error ? reject(error) : resolve(bytes),
    );
  });
  derived.set(id, key);
  return key;
}

/** Reads a key file; undefined if there is none. Throws CONFIG_INVALID if others can read it or it holds no key. */
export async function readKeyFile(file: string): Promise<Buffer | undefined> {
  const text = await readPrivateText(file);
  return text === undefined ? undefined : keyIn(file, text);
}

/** Makes a key file. If two processes make one at the same time, both return the one that was made first. */
export async function makeKeyFile(file: string): Promise<Buffer> {
  const key = randomBytes(KEY_BYTES).toString('base64');
  try {
    return keyIn(file, (await createPrivateFile(file, `${key}\n`)) ? key : await readFile(file, 'utf8'));
  } catch (error) {
    throw HeddleError.is(error) ? error : unreadable(file, error);
  }
}

function keyIn(file: string, text: string): Buffer {
  const key = wholeKey(text.trim());
  if (key !== undefined) return key;
  throw new HeddleError('CONFIG_INVALID', `${file} does not hold a key of 32 bytes.`, {
    fix: 'Put the right file back, or remove it together with secrets.json and set the secrets again.',
  });
}

async function readPrivateText(file: string): Promise<string | undefined> {
  const found = await stat(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw unreadable(file, error);
  });
  if (found === undefined) return undefined;
  if ((found.mode & OTHERS) !== 0) {
    throw new HeddleError('CONFIG_INVALID', `${file} can be read by others, so what it locks is open to them.`, {
      fix: `Run \`chmod 600 ${file}\`.`,
    });
  }
  return readFile(file, 'utf8').catch((error) => {
    throw unreadable(file, error);
  });
}

function unreadable(file: string, cause: unknown): HeddleError {
  const code = cause instanceof Error && 'code' in cause ? cause.code : cause;
  return new HeddleError('CONFIG_INVALID', `The key file ${file} cannot be used (${code}).`, {
    cause,
    fix: 'Make it readable, or give the key in HEDDLE_SECRET_KEY.',
  });
}
