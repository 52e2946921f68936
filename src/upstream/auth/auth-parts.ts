import type { RemoteEntry, Settings } from '../../config/schema/schema.ts';
import type { JsonObject } from '../../core/call.ts';
import type { Clock } from '../../core/time.ts';
import type { AddressSource, NamingDocument } from '../../egress/address-source.ts';
import type { GuardedFetchOptions, GuardedResponse } from '../../egress/guarded-fetch.ts';
import type { LeaseBook } from '../../store/lease-book.ts';
import type { SignInBook } from '../../store/sign-in-book.ts';
import type { TokenVault } from '../../store/token-vault.ts';
import type { ClientBook } from '../../store/vault/client-book.ts';

/** Fetches from an address that the configuration or a fetched document names. */
export type AuthFetch = (
  address: string,
  options: GuardedFetchOptions & { readonly source: AddressSource },
) => Promise<GuardedResponse>;

/** The parts that all credentials share. A Heddle has them once. */
export interface AuthParts {
  readonly vault: TokenVault;
  readonly clients: ClientBook;
  readonly signIns: SignInBook;
  readonly leases: LeaseBook;
  /** `guardedFetch`, unless a test replaces it. */
  readonly fetch: AuthFetch;
  /** Milliseconds since 1970, comparable with other machines. */
  readonly clock: Clock;
  /** The renewals of tokens in progress. Heddle waits for them when it closes. */
  readonly renewals?: Set<Promise<unknown>>;
  /** Returns random bytes of `node:crypto`, unless a test replaces it. */
  readonly random?: (bytes: number) => Uint8Array;
  /** The public address of the gateway, for its client metadata document and callback. */
  readonly publicUrl?: () => string | undefined;
  /** The identity provider of cross-app access. */
  readonly xaa?: () => Settings['xaa'];
}

/** The settings `oauth` of an entry. */
export type OAuthSettings = NonNullable<RemoteEntry['oauth']>;

/** A protected server, as far as signing in to it is concerned. */
export interface ProtectedServer {
  /** The name of the entry, for messages. */
  readonly server: string;
  /** The `url` of the entry. */
  readonly serverUrl: string;
  readonly oauth?: OAuthSettings | undefined;
}

/** An authorization server: its metadata, and where it came from. It is plain JSON, so that a record can hold it. */
export interface AuthorizationServer {
  /** The issuer, byte for byte. */
  readonly issuer: string;
  /** The metadata (RFC 8414). Its issuer and endpoints are checked. */
  readonly metadata: JsonObject;
  /** The URL of the entry, or of the setting, that led to it. */
  readonly written: string;
  /** The metadata document, which named the endpoints. */
  readonly document: NamingDocument;
}

/** The result of discovery: the resource and its authorization server. */
export interface Discovered {
  /** The resource for the key of the grant: `resource` of the metadata, or the server's URL if it has none. */
  readonly resource: string;
  /** The `resource` parameter of all requests; absent for a server without metadata (2025-03-26). */
  readonly resourceParameter?: string;
  readonly scopesSupported?: readonly string[];
  /** True if the resource metadata requires DPoP. */
  readonly requiresDpop: boolean;
  readonly as: AuthorizationServer;
  /** The address of the protected-resource metadata. */
  readonly metadataUrl?: string;
}

export type ClientAuthMethod = 'none' | 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt';

/** A client at one authorization server. */
export interface OAuthClient {
  readonly kind: 'configured' | 'metadata-document' | 'registered';
  readonly clientId: string;
  readonly clientSecret?: string;
  /** A PEM key, for `private_key_jwt`. */
  readonly privateKey?: string;
  readonly authMethod: ClientAuthMethod;
}

/** The tokens of a successful token request. */
export interface TokenResponse {
  readonly accessToken: string;
  /** `N_A` for a token that is no access token, such as an ID-JAG. */
  readonly tokenType: 'Bearer' | 'DPoP' | 'N_A';
  /** The time at which the access token expires, in milliseconds. At most a year ahead. */
  readonly expiresAt?: number;
  readonly refreshToken?: string;
  /** The granted scopes; undefined if the response named none, which means those of the request. */
  readonly scopes?: readonly string[];
  /** The ID token, if the request wanted one. Its claims are checked, its signature is not. */
  readonly idToken?: string;
  readonly issuedTokenType?: string;
}
