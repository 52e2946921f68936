import { HeddleError } from '../errors.ts';

/** Waits for a promise until the signal aborts. The work behind the promise goes on, since others may wait for it. */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) {
    promise.catch(() => {}); // An unhandled rejection would end the process.
    return Promise.reject(cancelled());
  }
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(cancelled());
    signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

const cancelled = () => new HeddleError('CALL_CANCELLED', 'The call was cancelled while it waited.');
