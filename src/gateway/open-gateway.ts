import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ALL_CHANGES } from '../core/records/server-status.ts';
import { realTimer, type Timer } from '../core/time.ts';
import type { Heddle } from '../heddle.ts';
import { type AdmitOptions, admitRequests } from './auth/admit-request.ts';
import { proofOf } from './auth/gateway-proof.ts';
import { openContinuations } from './continuations/continuations.ts';
import type { GatewayTasksOptions } from './continuations/gateway-tasks.ts';
import { openResponses } from './http/open-responses.ts';
import { announceToSessions } from './http/session-stream.ts';
import { openSessions, type Session, type Sessions, type SessionsOptions } from './http/sessions.ts';
import { streamableHttp } from './http/streamable-http.ts';
import type { AuthenticatedRequest } from './http-request.ts';
import { httpServer } from './http-server.ts';
import { trackInFlight } from './in-flight.ts';
import { mcpHandler } from './mcp-handler.ts';
import { isChangeVisibleTo } from './methods/client-capabilities.ts';
import { clientConnections } from './transports/client-connections.ts';
import { sseEndpoint } from './transports/serve-sse.ts';
import { wsEndpoint } from './transports/serve-ws.ts';

export interface GatewayOptions extends Omit<AdmitOptions, 'heddle' | 'prove'> {
  readonly heddle: Heddle;
  /** Answers what is under `/api/`; the console's. */
  readonly api: (arrival: Omit<AuthenticatedRequest, 'isStillAuthorized'>) => Promise<void>;
  /** 0 takes any free port. */
  readonly port: number;
  readonly maxBodyBytes: number;
  /** The key by which this gateway proves that it wrote its note; without it there is no proof. */
  readonly proofKey?: string | undefined;
  readonly timer?: Timer;
  /** Seal what modern clients bring back with their answers; made for this gateway alone when absent. */
  readonly stateSecrets?: readonly Buffer[];
  /** How many sessions there may be. */
  readonly sessions?: SessionsOptions;
  /** When calls that take long are held for their clients, and how many. */
  readonly gatewayTasks?: GatewayTasksOptions;
}

export interface Gateway {
  /** The MCP endpoint. */
  readonly url: string;
  readonly port: number;
  /**
   * Stops listening, ends what only listens, and waits for what is under way, up to `patienceMs`: then it is cut,
   * which cancels it. Close Heddle after that.
   */
  close(patienceMs?: number): Promise<void>;
}

const GOODBYE_MS = 300;

/**
 * Serves MCP at `/mcp`, and each profile at `/mcp/<profile>`, to whoever shows the right credential: over HTTP and over
 * WebSocket, and at `/sse` to clients of the first version. Rejects when the port is taken, and when anybody could
 * come in from elsewhere without a credential.
 */
export async function openGateway(options: GatewayOptions): Promise<Gateway> {
  const { heddle, host } = options;
  const sessions = openSessions(options.sessions);
  const given = openContinuations(heddle, { secrets: options.stateSecrets, held: options.gatewayTasks });
  const responses = openResponses();
  const closing = new AbortController();
  const handler = mcpHandler(heddle, given);
  const { answer, finish } = trackInFlight(handler);
  const connections = clientConnections({ heddle, handler, timer: options.timer ?? realTimer });
  const { maxBodyBytes, timer, proofKey } = options;
  let url = ''; // Known once it listens.
  const prove = proofKey === undefined ? undefined : (challenge: string) => proofOf({ url, proofKey }, challenge);
  const { server, plain } = httpServer({
    enter: admitRequests({ ...options, prove }),
    http: streamableHttp({ answer, sessions, maxBodyBytes, timer }),
    ws: wsEndpoint(connections, maxBodyBytes),
    sse: sseEndpoint(connections, maxBodyBytes),
    api: options.api,
    responses,
    closing: closing.signal,
  });
  await listening(server, options);
  const { port } = server.address() as AddressInfo;
  url = `http://${host.includes(':') ? `[${host}]` : host}:${port}/mcp`;

  const announcing = announceChanges(heddle, sessions, closing.signal);
  return {
    port,
    url,
    async close(patienceMs = GOODBYE_MS) {
      closing.abort();
      await announcing;
      given.gatewayTasks.close(); // Nobody can come for them any more.
      const closed = new Promise((resolve) => server.close(resolve));
      plain.finish();
      for (const session of sessions.all()) stopListening(session);
      const patience = AbortSignal.timeout(patienceMs);
      await Promise.all([finish(patience), connections.close(patience)]);
      await responses.finished(patience);
      server.closeAllConnections();
      plain.close();
      await closed;
    },
  };
}

function stopListening({ subscriptions, streams }: Session): void {
  subscriptions.close();
  for (const stream of streams) stream.end();
}

async function announceChanges(heddle: Heddle, sessions: Sessions, signal: AbortSignal): Promise<void> {
  for await (const change of heddle.changes(ALL_CHANGES, signal)) {
    const isFor = ({ callerId, capabilities }: Session) =>
      isChangeVisibleTo(change, { callerId, capabilities, era: 'legacy' });
    if (change.kind === 'catalog') announceToSessions(sessions, `notifications/${change.subject}/list_changed`, isFor);
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
