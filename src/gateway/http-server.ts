import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Admission, AdmitRequest } from './auth/admit-request.ts';
import { countedResponses } from './http/counted-response.ts';
import { type FastConnections, HEADERS_MS, serveFast } from './http/fast-connection.ts';
import { type FastResponse, KEEP_ALIVE_MS } from './http/fast-response.ts';
import type { OpenResponses } from './http/open-responses.ts';
import type { StreamableHttp } from './http/streamable-http.ts';
import type { AuthenticatedRequest, FastRequest } from './http-request.ts';
import { createServer } from './node-http.ts';
import { failResponse, type HttpResponse, sendJson } from './response-writer.ts';
import type { SignInRoutes } from './sign-in/sign-in-routes.ts';
import type { SseEndpoint } from './transports/serve-sse.ts';
import { type WsEndpoint, wantsWebSocket } from './transports/serve-ws.ts';
import type { UnsentBytes } from './unsent-bytes.ts';

export interface HttpServerOptions {
  readonly admitRequest: AdmitRequest;
  readonly http: StreamableHttp;
  readonly ws: WsEndpoint;
  readonly sse: SseEndpoint;
  /** Handles requests under `/api/`. */
  readonly api: (incoming: Omit<AuthenticatedRequest, 'isStillAuthorized'>) => Promise<void>;
  /** Serves the sign-in pages. */
  readonly signIn: Pick<SignInRoutes, 'handle'>;
  readonly responses: OpenResponses;
  readonly unsent: UnsentBytes;
  /** Aborts when the gateway closes. New streams are then refused with 503. */
  readonly closing: AbortSignal;
}

const REQUEST_MS = 30_000;
const CHECK_MS = 2000;
// Node reads pipelined requests without a limit.
const MAX_PIPELINED = 100;
// Node keeps the first value of a repeated header. A proxy in front may have checked the last.
const SINGLE_HEADERS = ['host', 'authorization'] as const;

const NOT_FOUND = { status: 404, body: { error: 'There is nothing at this path. MCP is at /mcp.' } };

type Routed = Promise<void> | void;

/** Creates the HTTP server: admits each request, then routes it to its endpoint. Does not listen yet. */
export function httpServer(options: HttpServerOptions): { readonly server: Server; readonly fast: FastConnections } {
  const { admitRequest, http, ws, responses, unsent, closing } = options;
  const server = createServer({
    keepAliveTimeout: KEEP_ALIVE_MS,
    headersTimeout: HEADERS_MS,
    requestTimeout: REQUEST_MS,
    connectionsCheckingInterval: CHECK_MS,
    shouldUpgradeCallback: wantsWebSocket,
    ServerResponse: countedResponses(unsent),
  });

  function receive(request: IncomingMessage, response: ServerResponse): void {
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
      whenAdmitted(admitRequest(request), (admission) => route(options, admission, { request, response })),
    );
  }

  // Nearly every call comes this way. The fast path accepts only POSTs to `/mcp`, so no other endpoint can be meant.
  function receiveFast(request: FastRequest, response: FastResponse): void {
    responses.add(response);
    orFail(response, () =>
      whenAdmitted(admitRequest(request), (admission) => {
        if (admission.endpoint === 'none') return sendJson(response, admission.response);
        if (admission.endpoint !== 'mcp') return sendJson(response, NOT_FOUND);
        const { caller, isStillAuthorized } = admission;
        response.callerId = caller.id;
        return http.post({ request, response, caller, isStillAuthorized });
      }),
    );
  }

  const lastResponse = new WeakMap<Duplex, ServerResponse>();
  const openOn = new WeakMap<Duplex, number>();
  function countOpen(socket: Duplex, change: number): number {
    const open = (openOn.get(socket) ?? 0) + change;
    openOn.set(socket, open);
    return open;
  }
  server.on('request', (request, response) => {
    const { socket } = request;
    lastResponse.set(socket, response);
    responses.add(response);
    response.once('close', () => countOpen(socket, -1));
    if (countOpen(socket, 1) > MAX_PIPELINED) socket.destroy();
    else receive(request, response);
  });
  server.on('upgrade', (request, socket, head) => {
    const previous = lastResponse.get(socket);
    if (previous && !previous.writableFinished) endAfter(previous, socket);
    else receive(request, ws.responseFor(request, { socket, head }));
  });
  return { server, fast: serveFast(server, unsent, receiveFast) };
}

type HttpPair = Pick<AuthenticatedRequest, 'request' | 'response'>;

/** Passes an admitted request to its endpoint, and sends the response of any other. */
function route(
  { http, ws, sse, api, signIn }: HttpServerOptions,
  admission: Admission,
  { request, response }: HttpPair,
): Routed {
  if (admission.endpoint === 'none') return sendJson(response, admission.response);
  if (admission.endpoint !== 'sign-in') (response as HttpResponse).callerId = admission.caller.id;
  if (admission.endpoint === 'api') return api({ request, response, caller: admission.caller });
  if (admission.endpoint === 'sign-in') return signIn.handle(request, response);
  const { caller, isStillAuthorized } = admission;
  const incoming = { request, response, caller, isStillAuthorized };
  if (wantsWebSocket(request)) return ws.accept(incoming);
  return sse.isFor(request) ? sse.handle(incoming) : http.handle(incoming);
}

// Synchronous unless the credential has to be looked up: a promise would cost every call.
const whenAdmitted = (admission: Admission | Promise<Admission>, next: (admission: Admission) => Routed): Routed =>
  admission instanceof Promise ? admission.then(next) : next(admission);

/**
 * Ends a connection after the response in progress. The client pipelined an upgrade request behind it, and two
 * responses cannot share a connection. Node has released the socket, so its errors and its end are handled here.
 */
function endAfter(response: ServerResponse, socket: Duplex): void {
  socket.on('error', () => {});
  socket.once('end', () => socket.destroy());
  socket.once('close', () => response.emit('close'));
  socket.resume(); // A paused socket would not report that the client disconnected.
  response.once('finish', () => socket.end());
}

function refuseRepeated(response: ServerResponse, name: string): void {
  sendJson(response, {
    status: 400,
    headers: { connection: 'close' },
    body: { error: `The header ${name} came more than once.` },
  });
}

function orFail(response: HttpResponse, step: () => Routed): void {
  try {
    step()?.catch((thrown: unknown) => failResponse(response, thrown));
  } catch (thrown) {
    failResponse(response, thrown);
  }
}
