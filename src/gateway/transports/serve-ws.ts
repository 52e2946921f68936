import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { AuthenticatedRequest } from '../http-request.ts';
import { ServerResponse as NodeResponse } from '../node-http.ts';
import type { UnsentBytes } from '../unsent-bytes.ts';
import type { ClientConnections } from './client-connections.ts';

interface Upgrade {
  readonly socket: Duplex;
  readonly head: Buffer;
}

export interface WsEndpoint {
  /** Creates a response for an upgrade request, so that it passes the same admission as any other request. */
  responseFor(request: IncomingMessage, upgrade: Upgrade): ServerResponse;
  /** Upgrades an authenticated request and serves its client. */
  accept(request: AuthenticatedRequest): Promise<void>;
}

export const wantsWebSocket = ({ headers }: IncomingMessage): boolean => headers.upgrade?.toLowerCase() === 'websocket';

/** Serves MCP over WebSocket: the subprotocol `mcp`, one message per text frame. */
export function wsEndpoint(connections: ClientConnections, maxBodyBytes: number, unsent: UnsentBytes): WsEndpoint {
  const upgrades = new WeakMap<IncomingMessage, Upgrade>();
  // `ws` is loaded for the first WebSocket client. Most gateways have none.
  const load = once(async () => {
    const [{ WebSocketServer }, { WsServerTransport }] = await Promise.all([import('ws'), import('./ws-transport.ts')]);
    const server = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      maxPayload: maxBodyBytes,
      perMessageDeflate: false, // A small compressed message can inflate to a huge one.
      handleProtocols: (offered) => (offered.has('mcp') ? 'mcp' : false),
    });
    return { server, WsServerTransport };
  });

  return {
    responseFor(request, upgrade) {
      upgrades.set(request, upgrade);
      const { socket } = upgrade;
      socket.on('error', () => {}); // The client has disconnected.
      const response = new NodeResponse(request);
      response.shouldKeepAlive = false;
      response.assignSocket(socket as Parameters<ServerResponse['assignSocket']>[0]);
      response.once('finish', () => socket.end());
      return response;
    },
    async accept(authenticated) {
      const { request, response, caller } = authenticated;
      const upgrade = upgrades.get(request);
      if (!upgrade) throw new Error('This request cannot be upgraded.');
      const { server, WsServerTransport } = await load();
      const { socket, head } = upgrade;
      response.detachSocket(socket as Parameters<ServerResponse['detachSocket']>[0]);
      server.handleUpgrade(request, socket, head, (webSocket) => {
        const countUnsent = (held = 0) => unsent.count(socket, caller.id, held);
        void connections.serve(authenticated, new WsServerTransport(webSocket, countUnsent));
      });
    },
  };
}

/** Caches the promise of `make`. A rejected promise is dropped, so that the next call tries again. */
function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make().catch((thrown) => {
      made = undefined;
      throw thrown;
    });
    return made;
  };
}
