import type { Timer } from '../../core/time.ts';
import type { Heddle } from '../../heddle.ts';
import { revalidateCredential } from '../auth/revalidate-credential.ts';
import type { AuthenticatedRequest } from '../http-request.ts';
import type { RequestHandler } from '../request-context.ts';
import type { ClientTransport } from './client-transport.ts';
import { serveClient } from './serve-client.ts';

/** The WebSocket and SSE clients of a gateway. */
export interface ClientConnections {
  /** Serves a client. Resolves when it has disconnected or its credential is no longer valid. */
  serve(request: Pick<AuthenticatedRequest, 'caller' | 'isStillAuthorized'>, transport: ClientTransport): Promise<void>;
  /** Disconnects each client once its requests are answered, and all of them when `deadline` aborts. */
  close(deadline: AbortSignal): Promise<void>;
}

export interface ClientConnectionsOptions {
  readonly heddle: Heddle;
  /** The one request handler of the gateway. */
  readonly handler: RequestHandler;
  readonly timer: Timer;
}

export function clientConnections({ heddle, handler, timer }: ClientConnectionsOptions): ClientConnections {
  const connected = new Map<ClientTransport, Promise<void>>();
  const closing = new AbortController();

  return {
    async serve({ caller, isStillAuthorized }, transport) {
      const disconnected = serveClient({ heddle, handler, caller, transport }, closing.signal);
      connected.set(transport, disconnected);
      const stopRevalidation = revalidateCredential(isStillAuthorized, timer, {
        onValid() {},
        onRevoked: () => void transport.close(),
      });
      await disconnected.finally(() => {
        stopRevalidation();
        connected.delete(transport);
      });
    },
    async close(deadline) {
      const disconnectAll = () => {
        for (const transport of connected.keys()) void transport.close();
      };
      deadline.addEventListener('abort', disconnectAll, { once: true });
      closing.abort();
      await Promise.all(connected.values());
      deadline.removeEventListener('abort', disconnectAll);
    },
  };
}
