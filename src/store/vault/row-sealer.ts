import type { JsonObject } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import { type Sealed, sealSecret, unseal } from '../secrets/secret-seal.ts';
import type { VaultKeys } from './vault-keys.ts';

/** The content of a row, encrypted, with the name of its key. */
export interface SealedContent {
  readonly key_name: string;
  readonly sealed: string;
}

/** Encrypts and decrypts the content of rows. Under other associated data a row does not decrypt. */
export interface RowSealer {
  seal(associated: readonly string[], content: object): Promise<SealedContent>;
  /** Returns undefined if the key is unknown here. Throws CONFIG_INVALID if the row was changed. */
  open(associated: readonly string[], row: SealedContent): Promise<JsonObject | undefined>;
  /** Returns the name of the key that rows are sealed with now. */
  currentKey(): Promise<string>;
  /** Tells whether rows with this key can be opened here. */
  knows(keyName: string): Promise<boolean>;
}

export function rowSealer(keys: VaultKeys): RowSealer {
  return {
    async seal(associated, content) {
      const { name, bytes } = await keys.current();
      const sealed = sealSecret(bytes, JSON.stringify(associated), JSON.stringify(content));
      return { key_name: name, sealed: JSON.stringify(sealed) };
    },
    async open(associated, { key_name, sealed }) {
      const key = await keys.named(key_name);
      if (!key) return undefined;
      const parts = parse(sealed);
      const text = isSealed(parts) ? unseal(key.bytes, JSON.stringify(associated), parts) : undefined;
      const content = text === undefined ? undefined : parse(text);
      if (isObject(content)) return content;
      throw new HeddleError('CONFIG_INVALID', `The stored credential for ${associated[1]} was changed.`, {
        fix: 'Sign out with `heddle auth logout <server>`, then sign in again.',
      });
    },
    currentKey: async () => (await keys.current()).name,
    knows: async (name) => (await keys.named(name)) !== undefined,
  };
}

/** The error for a row that was sealed with a key that is not available here. */
export function unknownKey(what: string, keyName: string): HeddleError {
  return new HeddleError('CONFIG_INVALID', `${what} is sealed with the key ${keyName}, which is not available here.`, {
    fix: 'Give that key in HEDDLE_SECRET_KEY, the same on every machine, or sign in again with `heddle auth login`.',
    details: { key: keyName },
  });
}

const isSealed = (value: unknown): value is Sealed & JsonObject =>
  isObject(value) && [value.iv, value.data, value.tag].every((part) => typeof part === 'string');

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
