import type { Caller, JsonObject } from '../call.ts';
import type {
  BeginSignInOptions,
  BegunSignIn,
  FinishSignInOptions,
  ForgottenSignIn,
  RekeyedVault,
  SignIn,
  SignInPreview,
  SignInTicket,
} from './sign-in.ts';

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
