import type { Readable } from 'node:stream';
import { HeddleError } from '../../core/errors.ts';
import { notice } from '../print/print-line.ts';

/** Returns a signal that aborts at the first SIGINT, SIGTERM or SIGHUP. A second one ends the process. */
export function untilInterrupted(): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, () => controller.abort());
  return controller.signal;
}

/** Throws CALL_CANCELLED when the signal has aborted: the findings of an interrupted check are incomplete. */
export function requireUninterrupted(signal: AbortSignal): void {
  if (signal.aborted) throw new HeddleError('CALL_CANCELLED', 'The check was cancelled.');
}

const CHECK_MS = 500;
/** Time in which a command whose client was disconnected closes its servers. */
const CLOSE_MS = 10_000;

/** Returns a signal that aborts when the input has ended and the parent process is gone. */
export function untilAbandoned(input: Readable): AbortSignal {
  const controller = new AbortController();
  const { ppid } = process;
  const timer = setInterval(() => {
    if (!input.readableEnded || process.ppid === ppid) return;
    clearInterval(timer);
    controller.abort();
  }, CHECK_MS).unref();
  return controller.signal;
}

/** Prints why the client of stdout was disconnected. Ends the process soon: the unread write would keep it alive. */
export function noticeUnread(message: string): void {
  notice(message);
  setTimeout(() => process.exit(), CLOSE_MS).unref();
}
