import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Arrival } from './arrival.ts';
import { type doors, fail, type Rooms } from './doors.ts';
import type { McpHttp } from './mcp-http.ts';
import { createServer } from './node-http.ts';
import type { OpenResponses } from './open-responses.ts';
import type { Response } from './outlet.ts';
import { HEADERS_MS, type PlainConnections, type PlainRequest, servePlainly } from './plain-connection.ts';
import { KEEP_ALIVE_MS, type PlainResponse } from './plain-response.ts';
import type { SseFace } from './serve-sse.ts';
import { type WsFace, wantsWebSocket } from './serve-ws.ts';

export interface HttpServerOptions {
  readonly enter: ReturnType<typeof doors>;
  readonly http: McpHttp;
  readonly ws: WsFace;
  readonly sse: SseFace;
  readonly api: (arrival: Omit<Arrival, 'stillMay'>) => Promise<void>;
  readonly responses: OpenResponses;
  /** Aborts when nobody is to come in any more. */
  readonly closing: AbortSignal;
}

const REQUEST_MS = 30_000;
const CHECK_MS = 2000;
// Node keeps the first of several and drops the rest, where a proxy may have checked the last.
const SINGLE_HEADERS = ['host', 'authorization'] as const;

/** Leads every request through the doors to the face that it asks for. Does not listen yet. */
export function httpServer(options: HttpServerOptions): { readonly server: Server; readonly plain: PlainConnections } {
  const { enter, http, ws, sse, api, responses, closing } = options;
  const server = createServer({
    keepAliveTimeout: KEEP_ALIVE_MS,
    headersTimeout: HEADERS_MS,
    requestTimeout: REQUEST_MS,
    connectionsCheckingInterval: CHECK_MS,
    shouldUpgradeCallback: wantsWebSocket,
  });

  function mcp(arrival: Arrival): Promise<void> | void {
    if (wantsWebSocket(arrival.request)) return ws.enter(arrival);
    return sse.isFor(arrival.request) ? sse.receive(arrival) : http.handle(arrival);
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
  function receivePlain(request: PlainRequest, response: PlainResponse): void {
    responses.add(response);
    const rooms: Rooms = { mcp: ({ caller, stillMay }) => http.post({ request, response, caller, stillMay }) };
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
    else receive(request, ws.arrive(request, { socket, head }));
  });
  return { server, plain: servePlainly(server, receivePlain) };
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

function orFail(response: Response, step: () => Promise<void> | void): void {
  try {
    step()?.catch((thrown: unknown) => fail(response, thrown));
  } catch (thrown) {
    fail(response, thrown);
  }
}
