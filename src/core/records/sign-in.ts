import type { Caller, JsonObject } from '../call.ts';

/** The sign-in at one server, for one owner of credentials. It holds no token. */
export interface SignIn {
  readonly server: string;
  /** The URL of the server that the tokens are for. */
  readonly url: string;
  /** `shared` for credentials that all callers use, else the principal. */
  readonly principal: string;
  readonly state: SignInState;
  /** The issuer of the authorization server. */
  readonly issuer?: string;
  readonly scopes: readonly string[];
  /** The time at which the access token expires, in milliseconds; absent if it has no end. */
  readonly expiresAt?: number;
  /** True if a refresh token renews the access token without a sign-in. */
  readonly isRenewable?: boolean;
  /** The refusal of the server, or the reason of a failed sign-in. */
  readonly reason?: string;
}

/** `none`: no token, and no request was refused yet. */
export type SignInState = 'signed-in' | 'needed' | 'in-progress' | 'failed' | 'none';

/** A redirect address that a client is registered with. */
export interface RedirectNeed {
  /** `localhost` for a configured client with a configured port, else `127.0.0.1`. */
  readonly host: '127.0.0.1' | 'localhost';
  /** The port that is registered; any free port if absent. */
  readonly port?: number;
}

/**
 * Opens a listener for the redirect and returns its URI; undefined if the port is taken. It is called after the client
 * was chosen, because a registration fixes the port. It may be called again with another need.
 */
export type OpenRedirect = (need: RedirectNeed) => Promise<string | undefined>;

/** A sign-in that waits for the user in a browser. */
export interface BegunSignIn {
  readonly server: string;
  /** The authorization request, for the browser of the user. */
  readonly url: string;
  /** The `state` parameter of the request. */
  readonly state: string;
  readonly redirectUri: string;
  readonly issuer: string;
  readonly scopes: readonly string[];
  /** The time after which the redirect is rejected, in milliseconds. */
  readonly expiresAt: number;
  /** The number of other sign-ins in progress of the same owner at this server. */
  readonly earlier: number;
}

/** The result of a logout. */
export interface ForgottenSignIn {
  readonly server: string;
  /** False if there was no token. */
  readonly removed: boolean;
  /** True if the authorization server revoked the tokens; `failed` if it was asked and did not. */
  readonly revoked: boolean | 'failed';
}

/** The result of sealing all credentials with the current key. */
export interface RekeyedVault {
  /** The name of the current key. */
  readonly key: string;
  readonly resealed: number;
  /** Rows that were left as they are: their key is not available here. */
  readonly unopened: readonly { readonly key: string; readonly rows: number }[];
}

/** The parts of a sign-in that are shown before it begins. */
export interface SignInPreview {
  readonly server: string;
  /** The URL of the server. */
  readonly url: string;
  readonly issuer: string;
  readonly scopes: readonly string[];
}

/** A ticket of the gateway's sign-in pages. */
export interface SignInTicket {
  readonly server: string;
  readonly caller: Caller;
  /** The facts that it was issued with. */
  readonly facts: JsonObject;
}

/** The beginning of `elicitationId` in Heddle's own URL elicitations. */
export const SIGN_IN_ELICITATION = 'heddle.sign-in:';

export interface BeginSignInOptions {
  /** The redirect URI, or the function that opens a listener for it. */
  readonly redirect: string | OpenRedirect;
  /** Scopes to request besides the usual ones and those of the tokens in the vault. */
  readonly scopes?: readonly string[];
  /** True on the gateway's page, which knows the browser. Elsewhere an account of a caller's own is PERMISSION_DENIED. */
  readonly isAtPage?: boolean;
  readonly signal: AbortSignal;
}

export interface FinishSignInOptions extends Pick<BeginSignInOptions, 'isAtPage' | 'signal'> {
  /** The query of the redirect, or the whole redirected URL. */
  readonly query: string;
  /** The `state` of the sign-in that has to end; a redirect of another one is rejected and not used up. */
  readonly state?: string;
}

/**
 * Sign-ins at protected servers. Shared credentials require `owner` or `operator`; with `credentials: user` each caller
 * signs in with an account of its own. Changes are audited.
 */
export interface SignIns {
  /** Lists the sign-ins of `by`, and the shared ones for `owner`, `operator` and `auditor`. Sends no request. */
  list(by: Caller): Promise<readonly SignIn[]>;
  /** Starts a sign-in: finds the authorization server and the client, and stores a record for 10 minutes. */
  begin(by: Caller, server: string, options: BeginSignInOptions): Promise<BegunSignIn>;
  /** Ends a sign-in with the query of its redirect: checks `state` and `iss`, and exchanges the code for tokens. */
  finish(by: Caller, server: string, options: FinishSignInOptions): Promise<SignIn>;
  /** Removes the record of a sign-in in progress. */
  cancel(by: Caller, server: string, state: string): Promise<void>;
  /** Removes the tokens, and revokes them if the authorization server supports that. */
  forget(by: Caller, server: string, signal: AbortSignal): Promise<ForgottenSignIn>;
  /** Seals all credentials with the key that is chosen now. Requires the role `owner`. */
  rekey(by: Caller): Promise<RekeyedVault>;
}

/**
 * Sign-ins of callers at the pages of a gateway. A ticket is used once within 10 minutes, and is bound to a caller and a
 * server; all replicas share it. These functions check no role: the pages identify the person.
 */
export interface BrowserSignIns {
  /** Sets the address of the pages, without a slash at its end. The returned function ends that. */
  serveAt(base: () => string | undefined): () => void;
  /** Returns the address of a page for `by`; undefined without pages, or if callers share the server's credentials. */
  pageFor(by: Caller, server: string): Promise<string | undefined>;
  /** Tests whether the caller has tokens for a server, and whether the server still accepts them as far as known. */
  isSignedIn(by: Caller, server: string): Promise<boolean>;
  /** Finds the authorization server and the scopes that a sign-in of `by` would use. */
  preview(by: Caller, server: string, signal: AbortSignal): Promise<SignInPreview>;
  issue(by: Caller, server: string, facts: JsonObject): Promise<string>;
  /** Returns a ticket without using it. */
  read(ticket: string): Promise<SignInTicket | undefined>;
  /** Returns a ticket and removes it in the same step. */
  take(ticket: string): Promise<SignInTicket | undefined>;
  /** Starts a sign-in at the issuer of a caller's tokens. The facts belong in a ticket. */
  beginIdentification(client: IdentifyingClient): Promise<BegunIdentification>;
  /** Ends it: checks the redirect, the ID token and its signature. Throws AUTH_REFUSED. */
  finishIdentification(redirect: IdentifyingRedirect): Promise<{ readonly issuer: string; readonly subject: string }>;
}

/** The client of the gateway at the issuer of its callers' tokens. */
export interface IdentifyingClient {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret?: string;
  readonly redirectUri: string;
  readonly signal: AbortSignal;
}

export interface BegunIdentification {
  /** The authorization request, for the browser. */
  readonly url: string;
  readonly state: string;
  readonly facts: JsonObject;
}

export interface IdentifyingRedirect {
  readonly facts: JsonObject;
  /** The query of the redirect. */
  readonly query: string;
  /** The secret of the client, which is not among the facts. */
  readonly clientSecret?: string;
  readonly signal: AbortSignal;
}
