import type { BegunSignIn, ForgottenSignIn, OpenRedirect, SignIn } from '../core/records/sign-in.ts';
import type { Heddle } from '../heddle.ts';
import { checkOptions, type OptionKeys, SIGNAL_KEYS, type SignalOptions } from './check-options.ts';
import { PROGRAM } from './program.ts';

/** The redirect of a sign-in: a URI of the program, or a function that opens a listener for it. */
export interface BeginOptions extends SignalOptions {
  readonly redirect: string | OpenRedirect;
}

/** The end of a sign-in. */
export interface FinishOptions extends SignalOptions {
  /** The query of the redirect, or the whole redirected URL. */
  readonly query: string;
  /** The `state` of the sign-in that has to end. */
  readonly state?: string;
}

/** Sign-ins at servers that require OAuth. Tokens stay in the store of Heddle. */
export interface SignInApi {
  /** Lists the sign-ins. Sends no request. */
  list(): Promise<readonly SignIn[]>;
  /**
   * Starts a sign-in. The user opens `url` in a browser, and the program receives the redirect within 10 minutes.
   *
   * @example
   * const { url, state } = await heddle.signIns.begin('github', { redirect: 'http://127.0.0.1:4000/callback' });
   */
  begin(server: string, options: BeginOptions): Promise<BegunSignIn>;
  /** Ends a sign-in with the query of its redirect. Throws AUTH_REFUSED. */
  finish(server: string, options: FinishOptions): Promise<SignIn>;
  /** Removes the record of a sign-in in progress. */
  cancel(server: string, state: string): Promise<void>;
  /** Removes the tokens, and revokes them if the authorization server supports that. */
  forget(server: string, options?: SignalOptions): Promise<ForgottenSignIn>;
}

const BEGIN_KEYS: OptionKeys<BeginOptions> = { redirect: true, signal: true };
const FINISH_KEYS: OptionKeys<FinishOptions> = { query: true, state: true, signal: true };

const never = (): AbortSignal => new AbortController().signal;

/** Returns the sign-ins of the embedding program. */
export function signInApi({ signIns }: Pick<Heddle, 'signIns'>): SignInApi {
  return {
    list: () => signIns.list(PROGRAM),
    async begin(server, options) {
      const { redirect = '', signal = never() } = checkOptions('signIns.begin', options, BEGIN_KEYS);
      return signIns.begin(PROGRAM, server, { redirect, signal });
    },
    async finish(server, options) {
      const { query = '', state, signal = never() } = checkOptions('signIns.finish', options, FINISH_KEYS);
      return signIns.finish(PROGRAM, server, { query, signal, ...(state !== undefined && { state }) });
    },
    cancel: (server, state) => signIns.cancel(PROGRAM, server, state),
    async forget(server, options) {
      const { signal = never() } = checkOptions('signIns.forget', options, SIGNAL_KEYS);
      return signIns.forget(PROGRAM, server, signal);
    },
  };
}
