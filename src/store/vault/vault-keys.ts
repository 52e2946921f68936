import { createHmac, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { withFileLock } from '../../files/file-lock.ts';
import { deriveKey, type KeyPlace, keyFileOf, makeKeyFile, readKeyFile, wholeKey } from '../secrets/secret-key.ts';
import { type Keyring, loadKeyring } from '../secrets/secret-keychain.ts';

/** A key of the vault. Its name is a digest that reveals nothing of it. */
export interface VaultKey {
  readonly name: string;
  readonly bytes: Buffer;
}

export interface VaultKeys {
  /** Returns the key that rows are sealed with. Makes one if there is none. */
  current(): Promise<VaultKey>;
  /** Returns a key by its name, from any place where a key may be. Makes none. */
  named(name: string): Promise<VaultKey | undefined>;
}

export interface VaultKeyOptions extends KeyPlace {
  readonly keyring?: (() => Promise<Keyring | undefined>) | undefined;
  /** Returns the salt of the database, for keys that are made from a passphrase. */
  readonly salt: () => Promise<string>;
}

const ACCOUNT = 'vault-key';
const KEY_BYTES = 32;
const NAME_CHARS = 16;

/**
 * Chooses the key: `HEDDLE_SECRET_KEY`, else an existing key file, else the keychain, else a new key file. Rows of the
 * key that another of these places holds, or that `HEDDLE_PREVIOUS_SECRET_KEY` gives, can still be opened.
 */
export function vaultKeys(options: VaultKeyOptions): VaultKeys {
  const { home, env, keyring = loadKeyring, salt } = options;
  const known = new Map<string, VaultKey>();
  let chosen: Promise<VaultKey> | undefined;

  const keep = (bytes: Buffer): VaultKey => {
    const key = { name: nameOf(bytes), bytes };
    known.set(key.name, key);
    return key;
  };
  const fromEnv = async (secret: string | undefined): Promise<Buffer | undefined> =>
    secret ? (wholeKey(secret) ?? deriveKey(secret, Buffer.from(await salt(), 'hex'))) : undefined;
  const fromFile = () => readKeyFile(keyFileOf(home));

  async function choose(): Promise<Buffer> {
    const existing = (await fromEnv(env.HEDDLE_SECRET_KEY)) ?? (await fromFile());
    if (existing) return existing;
    // Of several processes that make a key at the same time, one makes it.
    return withFileLock(join(home, ACCOUNT), async () => {
      const written = await fromFile();
      return written ?? (await keyOfKeychain(home, keyring)) ?? makeKeyFile(keyFileOf(home));
    });
  }

  const current = () => {
    chosen ??= choose()
      .then(keep)
      .catch((error) => {
        chosen = undefined;
        throw error;
      });
    return chosen;
  };

  return {
    current,
    async named(name) {
      if (known.has(name)) return known.get(name);
      const places = [
        () => fromEnv(env.HEDDLE_SECRET_KEY),
        fromFile,
        () => readKeychain(home, keyring),
        () => fromEnv(env.HEDDLE_PREVIOUS_SECRET_KEY),
      ];
      for (const read of places) {
        const bytes = await read();
        if (bytes && keep(bytes).name === name) return known.get(name);
      }
      return undefined;
    },
  };
}

/** A key that ends with the process, for a store in memory. */
export function passingKeys(): VaultKeys {
  const bytes = randomBytes(KEY_BYTES);
  const key = { name: nameOf(bytes), bytes };
  return { current: async () => key, named: async (name) => (name === key.name ? key : undefined) };
}

const nameOf = (bytes: Buffer): string =>
  createHmac('sha256', bytes).update('heddle vault key').digest('hex').slice(0, NAME_CHARS);

// Not the service of the secrets: their listing shows every account.
const entryOf = (home: string, keyring: Keyring) => new keyring.AsyncEntry(`heddle-vault ${home}`, ACCOUNT);

async function readKeychain(home: string, load: () => Promise<Keyring | undefined>): Promise<Buffer | undefined> {
  const keyring = await load();
  if (!keyring) return undefined;
  const text = await entryOf(home, keyring)
    .getPassword()
    .catch(() => undefined);
  return text ? wholeKey(text) : undefined;
}

/** Returns the key of the keychain, or makes one there. Returns undefined if no keychain answers. */
async function keyOfKeychain(home: string, load: () => Promise<Keyring | undefined>): Promise<Buffer | undefined> {
  const keyring = await load();
  if (!keyring) return undefined;
  try {
    const entry = entryOf(home, keyring);
    const found = await entry.getPassword();
    if (found) return wholeKey(found);
    const made = randomBytes(KEY_BYTES);
    await entry.setPassword(made.toString('base64'));
    // Read again: a keychain that forgets would lose every token.
    const kept = await entry.getPassword();
    return kept ? wholeKey(kept) : undefined;
  } catch {
    return undefined;
  }
}
