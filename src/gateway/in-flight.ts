import type { RequestHandler } from './request-context.ts';

/** What is being answered, for one who has to leave and does not want to leave anybody without an answer. */
export interface InFlightRequests {
  readonly answer: RequestHandler;
  /** Ends what would never end by itself, and settles when the rest is answered, or the signal aborts. */
  finish(signal: AbortSignal): Promise<void>;
}

/** Watches over what is answered. */
export function trackInFlight(answer: RequestHandler): InFlightRequests {
  const leaving = new AbortController();
  const { promise: idle, resolve } = Promise.withResolvers<void>();
  let running = 0;

  function settled(): void {
    running -= 1;
    // A moment later, when the last answer has been sent, too.
    if (running === 0 && leaving.signal.aborted) setImmediate(resolve);
  }

  return {
    answer(method, params, asked) {
      // Whoever only listens is told that it is over, and is not waited for.
      const listens = method === 'subscriptions/listen';
      const signal = listens ? AbortSignal.any([asked.signal, leaving.signal]) : asked.signal;
      const answered = answer(method, params, listens ? { ...asked, signal } : asked);
      running += 1;
      answered.then(settled, settled);
      return answered;
    },
    async finish(signal) {
      leaving.abort();
      if (running === 0 || signal.aborted) return;
      const hurried = Promise.withResolvers<void>();
      signal.addEventListener('abort', () => hurried.resolve(), { once: true });
      await Promise.race([idle, hurried.promise]);
    },
  };
}

/** How long somebody who leaves waits for what is under way. */
export const DRAIN_MS = 10_000;
