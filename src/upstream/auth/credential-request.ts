import type { RemoteEntry } from '../../config/schema/schema.ts';

/** A server and the owner of the tokens for it. */
export interface CredentialRequest {
  /** The name of the server. */
  readonly server: string;
  readonly entry: RemoteEntry;
  /** The owner of the tokens in the vault. */
  readonly principal: string;
}
