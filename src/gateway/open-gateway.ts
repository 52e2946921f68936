import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Caller } from '../core/call.ts';
import type { Heddle } from '../heddle.ts';
import { type DoorOptions, doors, fail } from './doors.ts';
import { mcpHandler } from './mcp-handler.ts';
import { mcpHttp } from './mcp-http.ts';
import { requestStates } from './request-state.ts';
import { announce } from './session-stream.ts';
import { openSessions, type Sessions } from './sessions.ts';

export interface GatewayOptions extends Omit<DoorOptions, 'mcp' | 'heddle'> {
  readonly heddle: Heddle;
  /** 0 takes any free port. */
  readonly port: number;
  readonly maxBodyBytes: number;
  /** Seal what modern clients bring back with their answers; made for this gateway alone when absent. */
  readonly stateSecrets?: readonly Buffer[];
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

/**
 * Serves MCP at `/mcp`, and each profile at `/mcp/<profile>`, to whoever shows the right credential. Rejects when the
 * port is taken, and when anybody could come in from elsewhere without one.
 */
export async function openGateway(options: GatewayOptions): Promise<Gateway> {
  const { heddle, host } = options;
  const sessions = openSessions();
  const states = requestStates({ ...(options.stateSecrets && { secrets: options.stateSecrets }) });
  const mcp = mcpHttp({ answer: mcpHandler(heddle, states), sessions, maxBodyBytes: options.maxBodyBytes });
  const receive = doors({ ...options, mcp });
  const server = createServer({
    keepAliveTimeout: KEEP_ALIVE_MS,
    headersTimeout: HEADERS_MS,
    requestTimeout: REQUEST_MS,
  });
  server.on('request', async (request, response) => {
    try {
      await receive(request, response);
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
      for (const { followed } of sessions.all()) followed.close();
      const closed = new Promise((resolve) => server.close(resolve));
      // Whoever waits for an answer gets one, if it comes at once; what only listens is cut.
      const timer = setTimeout(() => server.closeAllConnections(), GOODBYE_MS);
      await closed;
      clearTimeout(timer);
    },
  };
}

async function announceChanges(heddle: Heddle, sessions: Sessions, signal: AbortSignal): Promise<void> {
  for await (const { kind, subject } of heddle.changes(CHANGES, signal)) {
    if (kind === 'catalog') announce(sessions, `notifications/${subject}/list_changed`);
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
