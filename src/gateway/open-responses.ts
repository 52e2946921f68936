import type { ServerResponse } from 'node:http';

/** The responses that are not yet all written. */
export interface OpenResponses {
  add(response: ServerResponse): void;
  /** Settles when there are none, or when the signal aborts. Those that come meanwhile are the last on their line. */
  finished(signal: AbortSignal): Promise<void>;
}

export function openResponses(): OpenResponses {
  const open = new Set<ServerResponse>();
  let none: PromiseWithResolvers<void> | undefined;

  function closed(this: ServerResponse): void {
    open.delete(this);
    if (open.size === 0) none?.resolve();
  }

  return {
    add(response) {
      open.add(response);
      if (none) response.setHeader('connection', 'close');
      response.on('close', closed);
    },
    async finished(signal) {
      none ??= Promise.withResolvers();
      if (open.size === 0 || signal.aborted) return;
      signal.addEventListener('abort', () => none?.resolve(), { once: true });
      await none.promise;
    },
  };
}
