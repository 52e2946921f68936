import type { Caller } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import type { BegunSignIn, SignIn } from '../../core/records/sign-in.ts';
import { oneLine } from '../../core/text/visible-text.ts';
import type { Heddle } from '../../heddle.ts';
import { openBrowser } from '../../open-heddle.ts';
import { canAsk } from '../input/ask.ts';
import { untilInterrupted } from '../input/interrupt.ts';
import { notice } from '../print/print-line.ts';
import { type LoopbackListener, openLoopbackListener, type ReceivedRedirect } from './loopback-listener.ts';
import { waitForRedirect } from './wait-for-redirect.ts';

export interface LoginOptions {
  readonly heddle: Pick<Heddle, 'signIns'>;
  readonly by: Caller;
  readonly server: string;
  /** False prints the URL only. Without a terminal no browser is opened in any case. */
  readonly browser: boolean;
  /** Scopes to request besides the usual ones. */
  readonly scopes?: readonly string[];
}

/** Signs in at a server with the user's browser, or with a pasted redirect. Without a callback no record stays. */
export async function login({ heddle, by, server, browser, scopes = [] }: LoginOptions): Promise<SignIn> {
  const interrupt = new AbortController();
  const signal = AbortSignal.any([untilInterrupted(), interrupt.signal]);
  let listener: LoopbackListener | undefined;
  const redirect: Parameters<Heddle['signIns']['begin']>[2]['redirect'] = async (need) => {
    await listener?.close();
    listener = await openLoopbackListener(need);
    return listener?.redirectUri;
  };
  try {
    const begun = await heddle.signIns.begin(by, server, { redirect, scopes, signal });
    try {
      await showRequest(begun, browser);
      const received = await waitForRedirect({ begun, listener, signal, onInterrupt: () => interrupt.abort() });
      return await finish(received, () =>
        heddle.signIns.finish(by, server, { query: received.query, state: begun.state, signal }),
      );
    } catch (thrown) {
      await heddle.signIns.cancel(by, server, begun.state);
      throw thrown;
    }
  } finally {
    await listener?.close();
  }
}

/** Shows the authorization request, and opens it in the browser of a user at a terminal. */
async function showRequest({ server, url, issuer, scopes, earlier }: BegunSignIn, browser: boolean): Promise<void> {
  if (earlier > 0) {
    notice(
      `Another sign-in to ${server} is in progress. Each has a redirect of its own; the one completed last is kept.`,
    );
  }
  notice(`Signing in to ${server} at ${issuer}${scopes.length === 0 ? '' : `, scopes ${scopes.join(' ')}`}.`);
  const isOpened = browser && canAsk() && (await openBrowser(url));
  notice(isOpened ? 'Your browser opens. If it does not, open this address:' : 'Open this address in a browser:');
  process.stderr.write(`  ${oneLine(url)}\n`); // Not wrapped, so that it can be copied.
  notice('If the browser runs on another machine, paste the address that it shows at the end here, then press Enter.');
}

/** Finishes the sign-in and shows its end in the browser. */
async function finish({ respond }: ReceivedRedirect, exchange: () => Promise<SignIn>): Promise<SignIn> {
  try {
    const signIn = await exchange();
    respond({ title: 'Signed in', text: `Heddle is signed in to ${signIn.server}. You can close this window.` });
    return signIn;
  } catch (thrown) {
    // The reason stays in the terminal: the page is shown to any program that sent the redirect.
    const { code } = HeddleError.from(thrown);
    respond({ title: 'Not signed in', text: `The sign-in failed (${code}). The terminal shows the reason.` });
    throw thrown;
  }
}
