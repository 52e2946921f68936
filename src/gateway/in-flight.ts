import type { RequestHandler } from './request-context.ts';

/** The requests that a handler is working on, so that a shutdown can wait for their responses. */
export interface InFlightRequests {
  readonly handleRequest: RequestHandler;
  /** Ends `subscriptions/listen` requests and waits for the others, until the signal aborts. */
  finish(signal: AbortSignal): Promise<void>;
}

/** Counts the requests that a handler is working on. */
export function trackInFlight(handle: RequestHandler): InFlightRequests {
  const finishing = new AbortController();
  const { promise: idle, resolve } = Promise.withResolvers<void>();
  let running = 0;

  function settled(): void {
    running -= 1;
    // One turn later the last response has been written too.
    if (running === 0 && finishing.signal.aborted) setImmediate(resolve);
  }

  return {
    handleRequest(method, params, context) {
      // A `subscriptions/listen` request never ends by itself, so a shutdown aborts it.
      const listens = method === 'subscriptions/listen';
      const signal = listens ? AbortSignal.any([context.signal, finishing.signal]) : context.signal;
      const result = handle(method, params, listens ? { ...context, signal } : context);
      running += 1;
      result.then(settled, settled);
      return result;
    },
    async finish(signal) {
      finishing.abort();
      if (running === 0 || signal.aborted) return;
      const aborted = Promise.withResolvers<void>();
      signal.addEventListener('abort', () => aborted.resolve(), { once: true });
      await Promise.race([idle, aborted.promise]);
    },
  };
}

/** Time that a shutdown waits for requests in flight. */
export const DRAIN_MS = 10_000;
