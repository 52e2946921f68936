import type { Timer } from '../../core/time.ts';
import type { Heddle } from '../../heddle.ts';
import { revalidateCredential } from '../auth/revalidate-credential.ts';
import type { Continuations } from '../continuations/continuations.ts';
import type { AuthenticatedRequest } from '../http-request.ts';
import type { ClientTransport } from './client-transport.ts';
import { serveClient } from './serve-stdio.ts';

/** The clients that have a line of their own, for as long as they stay. */
export interface ClientConnections {
  /** Settles when the client is gone, or may no longer be here. */
  serve(arrival: Pick<AuthenticatedRequest, 'caller' | 'isStillAuthorized'>, line: ClientTransport): Promise<void>;
  /** Leaves every client once it has its answers; those that still wait when the signal aborts are cut off. */
  close(patience: AbortSignal): Promise<void>;
}

export function clientConnections(heddle: Heddle, given: Continuations, alarm: Timer): ClientConnections {
  const served = new Map<ClientTransport, Promise<void>>();
  const closing = new AbortController();

  return {
    async serve({ caller, isStillAuthorized }, line) {
      const gone = serveClient({ heddle, caller, transport: line, continuations: given }, closing.signal);
      served.set(line, gone);
      const stop = revalidateCredential(isStillAuthorized, alarm, { stay() {}, leave: () => void line.close() });
      await gone.finally(() => {
        stop();
        served.delete(line);
      });
    },
    async close(patience) {
      const cut = () => {
        for (const line of served.keys()) void line.close();
      };
      patience.addEventListener('abort', cut, { once: true });
      closing.abort();
      await Promise.all(served.values());
      patience.removeEventListener('abort', cut);
    },
  };
}
