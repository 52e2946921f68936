import { randomBytes, scrypt } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
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

/** Finds the encryption key: `HEDDLE_SECRET_KEY`, else a file with mode 0600 that is created on first use. */
export async function findSecretKey({ home, env }: KeyPlace): Promise<KeyMaker> {
  const secret = env.HEDDLE_SECRET_KEY;
  if (secret === undefined || secret === '') {
    const key = await keyOfFile(join(home, 'secret-key'));
    return async () => key;
  }
  const whole = wholeKey(secret);
  return whole === undefined ? (salt) => fromPassphrase(secret, salt) : async () => whole;
}

function wholeKey(text: string): Buffer | undefined {
  if (HEX.test(text)) return Buffer.from(text, 'hex');
  const bytes = BASE64.test(text) ? Buffer.from(text, 'base64') : Buffer.alloc(0);
  return bytes.length === KEY_BYTES ? bytes : undefined;
}

function fromPassphrase(phrase: string, salt: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(phrase.normalize('NFC'), salt, KEY_BYTES, SCRYPT, (error, key) => (error ? reject(error) : resolve(key)));
  });
}

async function keyOfFile(file: string): Promise<Buffer> {
  const text = (await readKeyFile(file)) ?? (await makeKeyFile(file));
  const key = wholeKey(text.trim());
  if (key !== undefined) return key;
  throw new HeddleError('CONFIG_INVALID', `${file} does not hold a key of 32 bytes.`, {
    fix: 'Put the right file back, or remove it together with secrets.json and set the secrets again.',
  });
}

async function readKeyFile(file: string): Promise<string | undefined> {
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

// If two processes create a key at the same time, both use the one that was created first.
async function makeKeyFile(file: string): Promise<string> {
  const key = randomBytes(KEY_BYTES).toString('base64');
  try {
    return (await createPrivateFile(file, `${key}\n`)) ? key : await readFile(file, 'utf8');
  } catch (error) {
    throw unreadable(file, error);
  }
}

function unreadable(file: string, cause: unknown): HeddleError {
  const code = cause instanceof Error && 'code' in cause ? cause.code : cause;
  return new HeddleError('CONFIG_INVALID', `The key file ${file} cannot be used (${code}).`, {
    cause,
    fix: 'Make it readable, or give the key in HEDDLE_SECRET_KEY.',
  });
}
