import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Caller } from '../core/call.ts';
import { HeddleError } from '../core/errors.ts';
import type { Heddle } from '../heddle.ts';
import type { Authenticate } from './authenticate.ts';
import { checkHost, type HostRules } from './check-host.ts';
import { mcpHandler } from './mcp-handler.ts';
import { type Arrival, mcpHttp } from './mcp-http.ts';
import { announce } from './session-stream.ts';
import { openSessions, type Sessions } from './sessions.ts';

export interface GatewayOptions extends HostRules {
  readonly heddle: Heddle;
  readonly authenticate: Authenticate;
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  readonly maxBodyBytes: number;
  /** Answers what is under `/api/`; the console's. */
  readonly api: (arrival: Arrival) => Promise<void>;
}

export interface Gateway {
  /** The MCP endpoint. */
  readonly url: string;
  readonly port: number;
  /** Stops listening, and a moment later cuts every connection. Close Heddle at the same time: its calls then end. */
  close(): Promise<void>;
}

const HEADERS_MS = 10_000;
const REQUEST_MS = 30_000;
const KEEP_ALIVE_MS = 65_000;
const GOODBYE_MS = 300;
const CHANGES: Caller = { id: 'gateway', roles: [], via: 'gateway' };

/** Serves MCP at `/mcp` to whoever shows the right credential. Rejects when the port is taken. */
export async function openGateway(options: GatewayOptions): Promise<Gateway> {
  const { heddle, host } = options;
  const sessions = openSessions();
  const mcp = mcpHttp({ answer: mcpHandler(heddle), sessions, maxBodyBytes: options.maxBodyBytes });
  const doors = { ...options, mcp };
  const server = createServer({
    keepAliveTimeout: KEEP_ALIVE_MS,
    headersTimeout: HEADERS_MS,
    requestTimeout: REQUEST_MS,
  });
  server.on('request', async (request, response) => {
    try {
      await receive(request, response, doors);
    } catch (thrown) {
      fail(response, thrown);
    }
  });
  await listening(server, options);
  const { port } = server.address() as AddressInfo;

  const closing = new AbortController();
  const announcing = announceChanges(heddle, sessions, closing.signal);
  return {
    port,
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}/mcp`,
    async close() {
      closing.abort();
      await announcing;
      const closed = new Promise((resolve) => server.close(resolve));
      // Whoever waits for an answer gets one, if it comes at once; what only listens is cut.
      const timer = setTimeout(() => server.closeAllConnections(), GOODBYE_MS);
      await closed;
      clearTimeout(timer);
    },
  };
}

interface Doors extends GatewayOptions {
  readonly mcp: (arrival: Arrival) => Promise<void> | void;
}

function receive(request: IncomingMessage, response: ServerResponse, doors: Doors): Promise<void> | void {
  const path = (request.url ?? '/').split('?', 1)[0] ?? '/';
  const trouble = checkHost(request, doors);
  if (trouble) return say(response, 403, trouble);
  if (path === '/healthz') return say(response, 200, 'ok');
  const caller = doors.authenticate(request);
  if (!caller) {
    response.setHeader('www-authenticate', 'Bearer');
    return say(response, 401, 'Send the token that `heddle up` printed as `Authorization: Bearer …`.');
  }
  if (path === '/mcp') return doors.mcp({ request, response, caller });
  if (path.startsWith('/api/')) return doors.api({ request, response, caller });
  return say(response, 404, 'There is nothing here. MCP is at /mcp.');
}

async function announceChanges(heddle: Heddle, sessions: Sessions, signal: AbortSignal): Promise<void> {
  for await (const { kind } of heddle.changes(CHANGES, signal)) {
    if (kind === 'catalog') announce(sessions, 'notifications/tools/list_changed');
  }
}

function listening(server: Server, { host, port }: GatewayOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

function fail(response: ServerResponse, thrown: unknown): void {
  if (response.headersSent) response.destroy();
  else say(response, 500, HeddleError.from(thrown).message);
}

function say(response: ServerResponse, status: number, message: string): void {
  const body = JSON.stringify(status < 400 ? { status: message } : { error: message });
  response
    .writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
    .end(body);
}
