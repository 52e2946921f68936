import type { JsonObject } from '../core/call.ts';

/** The key of a grant: a resource at its authorization server, for one principal. */
export interface GrantKey {
  /** The issuer of the authorization server, byte for byte. */
  readonly issuer: string;
  /** The resource indicator of the tokens, byte for byte. */
  readonly resource: string;
  /** The owner of the tokens; `SHARED_PRINCIPAL` for credentials that all callers use. */
  readonly principal: string;
}

/** The owner of credentials that all callers of a server use. */
export const SHARED_PRINCIPAL = 'shared';

/** The tokens of one sign-in or machine grant, with what is needed to use and renew them. */
export interface Grant extends GrantKey {
  /** The URL of the server that the tokens are for. They are sent to no other URL. */
  readonly serverUrl: string;
  readonly accessToken: string;
  readonly tokenType: 'Bearer' | 'DPoP';
  /** The time at which the access token expires, in milliseconds; undefined if the server named none. */
  readonly expiresAt?: number;
  /** The time at which the tokens were received, in milliseconds. */
  readonly receivedAt: number;
  readonly refreshToken?: string;
  /** The ID token of an identity provider, for cross-app access. */
  readonly idToken?: string;
  readonly scopes: readonly string[];
  /** The client to which the tokens were issued. A refresh uses the same one. */
  readonly clientId: string;
  /** The address of the protected-resource metadata, which a challenge may have named. A refresh reads it again. */
  readonly metadataUrl?: string;
  /** The private JWK that DPoP proofs are signed with. */
  readonly dpopKey?: JsonObject;
}

/** The parts of a grant that may be shown. */
export type GrantLabel = Pick<
  Grant,
  'serverUrl' | 'issuer' | 'resource' | 'principal' | 'expiresAt' | 'receivedAt' | 'scopes'
> & {
  readonly isRenewable: boolean;
  /** The name of the key that opens it, if that key is not available here. The rest of the label is then incomplete. */
  readonly unknownKey?: string;
};

/** Stores tokens, sealed with the issuer, the resource and the principal as associated data. */
export interface TokenVault {
  /**
   * Returns the newest grant of a principal for a server. Throws CONFIG_INVALID if there are only grants that were
   * sealed with a key that is not available here.
   */
  find(serverUrl: string, principal: string): Promise<Grant | undefined>;
  /**
   * Writes a grant durably. Returns false, and writes nothing, if the grant was written with a newer epoch or removed
   * since this lease was acquired. Replaces grants of other issuers for the same server and principal, but none that
   * was sealed with a key that is not available here.
   */
  put(grant: Grant, epoch: number): Promise<boolean>;
  /** Removes the grants of a principal for a server, also those of an unknown key; false when there were none. */
  remove(serverUrl: string, principal: string): Promise<boolean>;
  /** Returns a number that grows when any process writes or removes tokens. It may grow at other times, too. */
  version(): Promise<number>;
  /** Returns the URLs of the servers that a principal has grants for. Opens none of them. */
  serversOf(principal: string): Promise<readonly string[]>;
  /** Returns a label of every grant. Those of an unknown key are listed too. */
  labels(): Promise<readonly GrantLabel[]>;
  /**
   * Returns the DPoP key of a principal at an issuer, a private JWK. If there is none, stores the key that `generate`
   * returns; of two processes that store one at the same time, both get the one that was first.
   */
  dpopKey(owner: Pick<GrantKey, 'issuer' | 'principal'>, generate: () => JsonObject): Promise<JsonObject>;
}
