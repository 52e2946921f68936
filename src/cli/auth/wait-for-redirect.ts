import { HeddleError } from '../../core/errors.ts';
import type { BegunSignIn } from '../../core/records/sign-in.ts';
import { canAsk } from '../input/ask.ts';
import { notice } from '../print/print-line.ts';
import type { LoopbackListener, ReceivedRedirect } from './loopback-listener.ts';
import { readPastedLines } from './pasted-lines.ts';
import { hasState, queryOfPasted } from './pasted-redirect.ts';

export interface RedirectWait {
  readonly begun: BegunSignIn;
  readonly listener: LoopbackListener | undefined;
  readonly signal: AbortSignal;
  /** Called for Ctrl-C at the prompt. */
  readonly onInterrupt: () => void;
}

/** Waits for the redirect: at the loopback listener, or pasted by the user. Throws CALL_CANCELLED or AUTH_REFUSED. */
export async function waitForRedirect(wait: RedirectWait): Promise<ReceivedRedirect> {
  const { begun, listener, signal, onInterrupt } = wait;
  const ended = Promise.withResolvers<ReceivedRedirect>();
  const cancel = () => ended.reject(cancelled(begun));
  const expiry = setTimeout(() => ended.reject(expired(begun)), Math.max(0, begun.expiresAt - Date.now()));
  signal.addEventListener('abort', cancel, { once: true });
  if (signal.aborted) cancel();
  const stopReading = readPastedLines({ onLine: (line) => readPasted(line, begun, ended), onInterrupt });
  void listener?.receive(begun.state).then(ended.resolve);
  try {
    return await ended.promise;
  } finally {
    stopReading();
    clearTimeout(expiry);
    signal.removeEventListener('abort', cancel);
  }
}

/** Reads one pasted line. On a terminal the user may paste again; a script gets the error. */
function readPasted(line: string, begun: BegunSignIn, ended: PromiseWithResolvers<ReceivedRedirect>): void {
  if (line.trim() === '') return;
  const query = queryOfPasted(line);
  const error = query === undefined ? noRedirect(begun) : otherSignIn(begun);
  if (query !== undefined && hasState(query, begun.state)) ended.resolve({ query, respond: () => {} });
  else if (canAsk()) notice(`${error.message} ${error.fix}`);
  else ended.reject(error);
}

const noRedirect = ({ server }: BegunSignIn) =>
  new HeddleError('AUTH_REFUSED', `The pasted text is no redirect of the sign-in to ${server}.`, {
    fix: 'Paste the whole address that the browser shows at the end, or its part after `?`.',
  });

const otherSignIn = ({ server }: BegunSignIn) =>
  new HeddleError('AUTH_REFUSED', `The pasted redirect belongs to another sign-in, not to this one to ${server}.`, {
    fix: 'Open the address that this command printed, and paste the redirect that follows it.',
  });

const cancelled = ({ server }: BegunSignIn) =>
  new HeddleError('CALL_CANCELLED', `The sign-in to ${server} was cancelled. Nothing was stored.`, {
    fix: `Run \`heddle auth login ${server}\` to start again.`,
  });

const expired = ({ server }: BegunSignIn) =>
  new HeddleError('AUTH_REFUSED', `The sign-in to ${server} was not completed in 10 minutes.`, {
    fix: `Run \`heddle auth login ${server}\` to start again.`,
  });
