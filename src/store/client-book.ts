import type { JsonObject } from '../core/call.ts';

/** A dynamic client registration (RFC 7591), as the authorization server returned it. */
export interface ClientRegistration {
  readonly issuer: string;
  readonly redirectUri: string;
  readonly clientId: string;
  readonly clientSecret?: string;
  /** The time at which the secret expires, in milliseconds. */
  readonly secretExpiresAt?: number;
  /** The whole response, `token_endpoint_auth_method` included. */
  readonly metadata: JsonObject;
  /** True while the last sign-in with it has got no callback: the client may have been purged. */
  readonly isDoubtful: boolean;
}

/** Stores client registrations, sealed. Credentials of one issuer are never used with another. */
export interface ClientBook {
  /** Returns the registrations at an issuer, the newest first. */
  find(issuer: string): Promise<readonly ClientRegistration[]>;
  /** Replaces the registration with the same issuer and redirect URI. */
  put(registration: ClientRegistration): Promise<void>;
  remove(issuer: string, clientId: string): Promise<void>;
}
