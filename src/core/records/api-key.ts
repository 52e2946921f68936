import type { Role } from '../call.ts';

/** An API key of one caller. Only its hash is kept. */
export interface ApiKey {
  /** The caller is known as `key:<name>`. */
  readonly name: string;
  /** SHA-256 of the key itself, as hex. */
  readonly sha256: string;
  readonly roles: readonly Role[];
  /** The only profile it gives access to; absent means the whole gateway. */
  readonly profile?: string;
  /** A person uses it and sees the forms of its client; absent for a key of a program. */
  readonly person?: true;
}

/** An API key in the store. */
export interface StoredApiKey extends ApiKey {
  readonly createdAt: number;
}
