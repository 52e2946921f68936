import { HeddleError } from '../../core/errors.ts';
import type { Input } from '../command.ts';
import { askYes, canAsk } from '../input/ask.ts';
import { localCaller } from '../local-caller.ts';
import { notice } from '../print/print-line.ts';
import { openOptions, withHeddle } from '../with-heddle.ts';
import { login } from './login.ts';

/** The most sign-ins during one operation: one for a token, one for further scopes. */
const MAX_SIGN_INS = 2;

/**
 * Offers a sign-in to a user at a terminal after a server refused an operation, then runs the operation again: the server
 * has not carried out the refused request. A refusal that is remembered causes no prompt.
 */
export async function retryAfterSignIn<T>(input: Input, refused: HeddleError, operate: () => Promise<T>): Promise<T> {
  let error = refused;
  for (let signIns = 0; signIns < MAX_SIGN_INS; signIns++) {
    const server = canAsk() ? serverToSignIn(error) : undefined;
    if (server === undefined || !(await askYes(`${error.message} Sign in to ${server} now?`))) throw error;
    await signIn(input, server);
    try {
      return await operate();
    } catch (thrown) {
      error = HeddleError.from(thrown);
    }
  }
  throw error;
}

/** Returns the server that a sign-in would help with. Credentials that no sign-in replaces have another fix. */
function serverToSignIn({ code, fix, details }: HeddleError): string | undefined {
  const helps = code === 'AUTH_NEEDED' && details.remembered !== true && fix.includes('`heddle auth login ');
  return helps && typeof details.server === 'string' ? details.server : undefined;
}

// A Heddle of its own: the tokens reach a running gateway through the store.
async function signIn(input: Input, server: string): Promise<void> {
  await withHeddle({ ...openOptions(input), autoConnect: false }, (heddle) =>
    login({ heddle, by: localCaller(), server, browser: true }),
  );
  notice(`Signed in to ${server}.`);
}
