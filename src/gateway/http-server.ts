import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { type admitRequests, failResponse, type Routes } from './auth/admit-request.ts';
import { type FastConnections, HEADERS_MS, serveFast } from './http/fast-connection.ts';
import { type FastResponse, KEEP_ALIVE_MS } from './http/fast-response.ts';
import type { OpenResponses } from './http/open-responses.ts';
import type { StreamableHttp } from './http/streamable-http.ts';
import type { AuthenticatedRequest, FastRequest } from './http-request.ts';
import { createServer } from './node-http.ts';
import type { HttpResponse } from './response-writer.ts';
import type { SseEndpoint } from './transports/serve-sse.ts';
import { type WsEndpoint, wantsWebSocket } from './transports/serve-ws.ts';

export interface HttpServerOptions {
  readonly enter: ReturnType<typeof admitRequests>;
  readonly http: StreamableHttp;
  readonly ws: WsEndpoint;
  readonly sse: SseEndpoint;
  readonly api: (arrival: Omit<AuthenticatedRequest, 'isStillAuthorized'>) => Promise<void>;
  readonly responses: OpenResponses;
  /** Aborts when nobody is to come in any more. */
  readonly closing: AbortSignal;
}

const REQUEST_MS = 30_000;
const CHECK_MS = 2000;
// Node keeps the first of several and drops the rest, where a proxy may have checked the last.
const SINGLE_HEADERS = ['host', 'authorization'] as const;

/** Leads every request through the doors to the face that it asks for. Does not listen yet. */
export function httpServer(options: HttpServerOptions): { readonly server: Server; readonly plain: FastConnections } {
  const { enter, http, ws, sse, api, responses, closing } = options;
  const server = createServer({
    keepAliveTimeout: KEEP_ALIVE_MS,
    headersTimeout: HEADERS_MS,
    requestTimeout: REQUEST_MS,
    connectionsCheckingInterval: CHECK_MS,
    shouldUpgradeCallback: wantsWebSocket,
  });

  function mcp(arrival: AuthenticatedRequest): Promise<void> | void {
    if (wantsWebSocket(arrival.request)) return ws.accept(arrival);
    return sse.isFor(arrival.request) ? sse.handle(arrival) : http.handle(arrival);
  }

  function receive(request: IncomingMessage, response: ServerResponse): void {
    // A stream that opened now would only be cut.
    if (closing.aborted && request.method === 'GET') {
      response.writeHead(503).end();
      return;
    }
    const repeated = SINGLE_HEADERS.find((name) => (request.headersDistinct[name]?.length ?? 0) > 1);
    if (repeated) {
      refuseRepeated(response, repeated);
      return;
    }
    orFail(response, () =>
      enter(request, response, {
        mcp: (admitted) => mcp({ request, response, ...admitted }),
        api: (caller) => api({ request, response, caller }),
      }),
    );
  }

  // Nearly every call comes this way.
  function receivePlain(request: FastRequest, response: FastResponse): void {
    responses.add(response);
    const rooms: Routes = {
      mcp: ({ caller, isStillAuthorized }) => http.post({ request, response, caller, isStillAuthorized }),
    };
    orFail(response, () => enter(request, response, rooms));
  }

  const last = new WeakMap<Duplex, ServerResponse>();
  server.on('request', (request, response) => {
    last.set(request.socket, response);
    responses.add(response);
    receive(request, response);
  });
  server.on('upgrade', (request, socket, head) => {
    const before = last.get(socket);
    if (before && !before.writableFinished) endWith(before, socket);
    else receive(request, ws.responseFor(request, { socket, head }));
  });
  return { server, plain: serveFast(server, receivePlain) };
}

/**
 * Whoever asks for another protocol before it has its answers gets those, and no more: two responses cannot share a
 * connection. Node has let go of it by now, so nobody else would hear that it broke.
 */
function endWith(response: ServerResponse, socket: Duplex): void {
  socket.on('error', () => {});
  socket.once('end', () => socket.destroy());
  socket.once('close', () => response.emit('close'));
  socket.resume(); // Unread, it would not say that its client left.
  response.once('finish', () => socket.end());
}

function refuseRepeated(response: ServerResponse, name: string): void {
  response
    .writeHead(400, { 'content-type': 'application/json', connection: 'close' })
    .end(JSON.stringify({ error: `The header ${name} came more than once.` }));
}

function orFail(response: HttpResponse, step: () => Promise<void> | void): void {
  try {
    step()?.catch((thrown: unknown) => failResponse(response, thrown));
  } catch (thrown) {
    failResponse(response, thrown);
  }
}
