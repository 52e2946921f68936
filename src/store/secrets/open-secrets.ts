import { access } from 'node:fs/promises';
import { HeddleError } from '../../core/errors.ts';
import { fileSecrets, secretFileOf } from './secret-file.ts';
import type { KeyPlace } from './secret-key.ts';
import { type Keyring, keychainSecrets, loadKeyring } from './secret-keychain.ts';
import type { Secrets } from './secrets.ts';

export interface OpenSecretsOptions extends KeyPlace {
  readonly clock?: () => number;
  readonly keyring?: () => Promise<Keyring | undefined>;
}

const NAME = /^[A-Za-z0-9_.-]{1,128}$/;

/** Opens the secrets of a user: in the keychain if one responds, else in an encrypted file. */
export async function openSecrets(options: OpenSecretsOptions): Promise<Secrets> {
  const { home, env, clock = Date.now, keyring = loadKeyring } = options;
  // An existing file stays in use, and a key from the environment selects the file.
  const staysInFile = Boolean(env.HEDDLE_SECRET_KEY) || (await exists(secretFileOf(home)));
  const keychain = staysInFile ? undefined : await keychainSecrets(home, keyring);
  const parts = keychain ?? fileSecrets({ home, env, clock });
  return {
    backend: keychain === undefined ? 'file' : 'keychain',
    requireName,
    get: async (name) => (NAME.test(name) ? parts.get(name) : undefined),
    async set(name, value) {
      requireName(name);
      if (value === '')
        throw new HeddleError('INPUT_INVALID', `The secret \`${name}\` is empty.`, { fix: 'Give a value.' });
      await parts.set(name, value);
    },
    names: async () => (await parts.names()).toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    remove: async (name) => NAME.test(name) && parts.remove(name),
  };
}

/**
 * Reads many secrets at once: for each name its value, or the error that prevents reading it.
 * A name that is not set is missing in the result. Without names no store is opened.
 */
export async function readSecretsFor(
  names: readonly string[],
  options: OpenSecretsOptions,
): Promise<ReadonlyMap<string, string | HeddleError>> {
  const found = new Map<string, string | HeddleError>();
  if (names.length === 0) return found;
  const secrets = await openSecrets(options);
  for (const name of new Set(names)) {
    const value = await secrets.get(name).catch((thrown: unknown) => HeddleError.from(thrown));
    if (value !== undefined) found.set(name, value);
  }
  return found;
}

function requireName(name: string): void {
  if (NAME.test(name) && name !== '__proto__') return;
  throw new HeddleError('USAGE_INVALID', `${JSON.stringify(name)} cannot be the name of a secret.`, {
    fix: 'Use up to 128 letters, digits, `-`, `_` and `.`.',
  });
}

const exists = (file: string): Promise<boolean> =>
  access(file).then(
    () => true,
    () => false,
  );
