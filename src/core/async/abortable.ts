import { HeddleError } from '../errors.ts';

/** Waits for something others wait for too: an abort ends this wait, not the thing itself. */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) {
    promise.catch(() => {}); // Nobody else may be waiting, and a failure that nobody hears ends the process.
    return Promise.reject(cancelled());
  }
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(cancelled());
    signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

const cancelled = () => new HeddleError('CALL_CANCELLED', 'The call was cancelled while it waited.');
