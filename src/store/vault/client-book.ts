import type { JsonObject } from '../../core/call.ts';

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
  /**
   * The time at which a sign-in began that has got no callback yet, in milliseconds; 0 if it was cancelled. The
   * authorization server may have purged the client, and shows that only in the browser.
   */
  readonly unansweredSince?: number;
}

/** Stores client registrations, sealed. Credentials of one issuer are never used with another. */
export interface ClientBook {
  /** Returns the registrations at an issuer, the newest first. */
  find(issuer: string): Promise<readonly ClientRegistration[]>;
  /** Replaces the registration with the same issuer and client id. Earlier ones stay: grants refer to them. */
  put(registration: ClientRegistration): Promise<void>;
  remove(issuer: string, clientId: string): Promise<void>;
}
