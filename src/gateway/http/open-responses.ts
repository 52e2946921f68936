import type { HttpResponse } from '../response-writer.ts';

/** The HTTP responses that are not complete yet. */
export interface OpenResponses {
  add(response: HttpResponse): void;
  /** Settles when none is left, or when the signal aborts. Later responses carry `connection: close`. */
  finished(signal: AbortSignal): Promise<void>;
}

export function openResponses(): OpenResponses {
  const open = new Set<HttpResponse>();
  let none: PromiseWithResolvers<void> | undefined;

  return {
    add(response) {
      open.add(response);
      if (none) response.setHeader('connection', 'close');
      response.once('close', () => {
        open.delete(response);
        if (open.size === 0) none?.resolve();
      });
    },
    async finished(signal) {
      none ??= Promise.withResolvers();
      if (open.size === 0 || signal.aborted) return;
      signal.addEventListener('abort', () => none?.resolve(), { once: true });
      await none.promise;
    },
  };
}
