import type { Role } from '../call.ts';

/** A credential for one caller, as it is kept: whoever reads it cannot use it. */
export interface ApiKey {
  /** The caller is known as `key:<name>`. */
  readonly name: string;
  /** SHA-256 of the key itself, as hex. */
  readonly sha256: string;
  readonly roles: readonly Role[];
  /** The only profile it opens; all of the gateway when absent. */
  readonly profile?: string;
}

/** A key that the store keeps. */
export interface StoredApiKey extends ApiKey {
  readonly createdAt: number;
}
