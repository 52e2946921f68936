import type { Secrets } from './secrets.ts';

interface Credential {
  readonly account: string;
  readonly password: string;
}

/** The part of `@napi-rs/keyring` that Heddle uses. */
export interface Keyring {
  readonly AsyncEntry: new (
    service: string,
    account: string,
  ) => {
    getPassword(): Promise<string | null | undefined>;
    setPassword(value: string): Promise<void>;
    deletePassword(): Promise<unknown>;
  };
  readonly findCredentialsAsync: (service: string) => Promise<readonly Credential[]>;
}

const PROBE = 'heddle-probe';
// In a variable, because the package is optional and must not be needed to build Heddle.
const PACKAGE: string = '@napi-rs/keyring';

/** Loads the keychain package if it is installed. */
export async function loadKeyring(): Promise<Keyring | undefined> {
  try {
    return (await import(PACKAGE)) as Keyring;
  } catch {
    return undefined;
  }
}

/** Opens the keychain of the operating system. Returns undefined if none responds. */
export async function keychainSecrets(
  home: string,
  load: () => Promise<Keyring | undefined>,
): Promise<Omit<Secrets, 'backend' | 'requireName'> | undefined> {
  const keyring = await load();
  if (keyring === undefined) return undefined;
  const service = `heddle ${home}`;
  const entry = (name: string) => new keyring.AsyncEntry(service, name);
  try {
    await entry(PROBE).getPassword();
  } catch {
    return undefined;
  }
  return {
    get: async (name) => (await entry(name).getPassword()) ?? undefined,
    set: async (name, value) => entry(name).setPassword(value),
    names: async () => (await keyring.findCredentialsAsync(service)).map(({ account }) => ({ name: account })),
    async remove(name) {
      if ((await entry(name).getPassword()) == null) return false;
      await entry(name).deletePassword();
      return true;
    },
  };
}
