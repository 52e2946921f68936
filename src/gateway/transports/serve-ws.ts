import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { AuthenticatedRequest } from '../http-request.ts';
import { ServerResponse as NodeResponse } from '../node-http.ts';
import type { ClientConnections } from './client-connections.ts';

interface Upgrade {
  readonly socket: Duplex;
  readonly head: Buffer;
}

export interface WsEndpoint {
  /** Gives an upgrade a response, so that it comes through the same doors as everybody. */
  arrive(request: IncomingMessage, upgrade: Upgrade): ServerResponse;
  /** Serves whoever came to upgrade and has passed the doors. */
  enter(arrival: AuthenticatedRequest): Promise<void>;
}

export const wantsWebSocket = ({ headers }: IncomingMessage): boolean => headers.upgrade?.toLowerCase() === 'websocket';

/** MCP over WebSocket: the subprotocol `mcp`, one message per text frame. */
export function wsEndpoint(lines: ClientConnections, maxBodyBytes: number): WsEndpoint {
  const upgrades = new WeakMap<IncomingMessage, Upgrade>();
  // Loaded with the first client that comes this way: few do.
  const load = once(async () => {
    const [{ WebSocketServer }, { WsServerTransport }] = await Promise.all([import('ws'), import('./ws-transport.ts')]);
    const server = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      maxPayload: maxBodyBytes,
      perMessageDeflate: false, // A small message could unfold into a huge one.
      handleProtocols: (offered) => (offered.has('mcp') ? 'mcp' : false),
    });
    return { server, SocketLine: WsServerTransport };
  });

  return {
    arrive(request, upgrade) {
      upgrades.set(request, upgrade);
      const { socket } = upgrade;
      socket.on('error', () => {}); // It has left.
      const response = new NodeResponse(request);
      response.shouldKeepAlive = false;
      response.assignSocket(socket as Parameters<ServerResponse['assignSocket']>[0]);
      response.once('finish', () => socket.end());
      return response;
    },
    async enter(arrival) {
      const { request, response } = arrival;
      const upgrade = upgrades.get(request);
      if (!upgrade) throw new Error('This request cannot be upgraded.');
      const { server, SocketLine } = await load();
      const { socket, head } = upgrade;
      response.detachSocket(socket as Parameters<ServerResponse['detachSocket']>[0]);
      server.handleUpgrade(request, socket, head, (opened) => void lines.serve(arrival, new SocketLine(opened)));
    },
  };
}

/** Made once; tried again by the next who wants it when that failed. */
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
