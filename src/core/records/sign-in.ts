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
