import type { JsonObject } from '../core/call.ts';

/** A sign-in in progress. It is used once, within 10 minutes. */
export interface PendingSignIn {
  /** The `state` parameter, 256 bits. The store keeps only its SHA-256. */
  readonly state: string;
  readonly server: string;
  readonly serverUrl: string;
  readonly principal: string;
  readonly issuer: string;
  readonly resource: string;
  readonly redirectUri: string;
  readonly verifier: string;
  readonly clientId: string;
  readonly scopes: readonly string[];
  readonly expiresAt: number;
  /** Further facts of the sign-in: the client, the endpoints, the hash of the browser's cookie. Sealed like the verifier. */
  readonly extra?: JsonObject;
}

/** The server and the principal that a sign-in in progress belongs to. */
export type SignInOwner = Pick<PendingSignIn, 'serverUrl' | 'principal'>;

/** A refusal of a server: until it ends, no request is sent and no prompt is shown. */
export interface RememberedRefusal {
  readonly serverUrl: string;
  readonly principal: string;
  readonly at: number;
  readonly until: number;
  /** The scopes that the challenge named. */
  readonly scopes: readonly string[];
  /** True for 403 `insufficient_scope`: `scopes` are then the union of the granted and the challenged ones. */
  readonly isStepUp?: boolean;
  /** True if calls alone were refused for want of scopes: other requests are sent, and a sign-in requests the scopes. */
  readonly isOfCall?: boolean;
  /** True if the challenge had the scheme DPoP. */
  readonly isDpop?: boolean;
  /** The `resource_metadata` of the challenge. */
  readonly metadataUrl?: string;
  /** The message of the refusal, for status and errors. */
  readonly reason: string;
}

/** A ticket of the page `/connect/<ticket>`: single use, bound to a caller and a server. */
export interface ConnectTicket {
  /** 256 random bits. The store keeps only their SHA-256. */
  readonly ticket: string;
  readonly server: string;
  readonly principal: string;
  readonly expiresAt: number;
  readonly extra?: JsonObject;
}

/** Stores sign-ins in progress, tickets and remembered refusals, shared by all processes. */
export interface SignInBook {
  begin(signIn: PendingSignIn): Promise<void>;
  /**
   * Returns a sign-in and removes it in the same step; undefined if it was used, changed, has expired or never existed.
   * One of another server or principal is undefined, too, and stays. Throws CONFIG_INVALID, and keeps it, if it was
   * sealed with a key that is not available here.
   */
  take(state: string, owner: SignInOwner): Promise<PendingSignIn | undefined>;
  /** Returns the sign-ins in progress of a principal at a server. */
  pending(serverUrl: string, principal: string): Promise<readonly Omit<PendingSignIn, 'state' | 'verifier'>[]>;
  issueTicket(ticket: ConnectTicket): Promise<void>;
  /** Returns a ticket without using it, if it is valid. */
  readTicket(ticket: string): Promise<ConnectTicket | undefined>;
  /** Returns a ticket and removes it in the same step. */
  takeTicket(ticket: string): Promise<ConnectTicket | undefined>;
  /** Removes the sign-ins in progress and the tickets of a principal. */
  abandon(principal: string): Promise<void>;
  /** Replaces the refusal of the same server and principal. */
  refuse(refusal: RememberedRefusal): Promise<void>;
  /** Returns the refusal, unless it is over or the vault has a grant that was received after it. */
  refusal(serverUrl: string, principal: string): Promise<RememberedRefusal | undefined>;
  forgive(serverUrl: string, principal: string): Promise<void>;
}

/** Returns the principal of a remembered refusal. With a fingerprint, each credential has refusals of its own. */
export const refusedPrincipal = (principal: string, fingerprint = ''): string =>
  fingerprint === '' ? principal : `${principal}#${fingerprint}`;
