import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ALL_CHANGES } from '../core/records/server-status.ts';
import { realTimer, type Timer } from '../core/time.ts';
import type { Heddle } from '../heddle.ts';
import { type AdmitOptions, requestAdmitter } from './auth/admit-request.ts';
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
import { isChangeVisibleTo, narrowExtensions } from './methods/client-capabilities.ts';
import { passRootsChange } from './methods/roots-changed.ts';
import { type CallsAfterSignInOptions, callsAfterSignIn } from './sign-in/call-after-sign-in.ts';
import { signInPathOf, signInRoutes } from './sign-in/sign-in-routes.ts';
import { clientConnections } from './transports/client-connections.ts';
import { sseEndpoint } from './transports/serve-sse.ts';
import { wsEndpoint } from './transports/serve-ws.ts';
import { UnsentBytes, type UnsentLimits } from './unsent-bytes.ts';

export interface GatewayOptions extends Omit<AdmitOptions, 'heddle' | 'prove'> {
  readonly heddle: Heddle;
  /** Handles requests under `/api/`, which belong to the console. */
  readonly api: (incoming: Omit<AuthenticatedRequest, 'isStillAuthorized'>) => Promise<void>;
  /** 0 takes any free port. */
  readonly port: number;
  readonly maxBodyBytes: number;
  /** The key with which this gateway proves that it wrote its note; no proof is given if absent. */
  readonly proofKey?: string | undefined;
  readonly timer?: Timer;
  /** Limits on bytes that clients do not read. */
  readonly unsent?: UnsentLimits;
  /** Receives one sentence for each client that is disconnected because it does not read. */
  readonly report?: (message: string) => void;
  /** The secrets that seal `requestState`; random for this gateway if absent. */
  readonly stateSecrets?: readonly Buffer[];
  /** Limits on sessions. */
  readonly sessions?: SessionsOptions;
  /** How long a call waits for the sign-in of its caller. */
  readonly signInWait?: Pick<CallsAfterSignInOptions, 'timer' | 'waitMs'>;
  /** Delay after which a call becomes a gateway task, and the number of tasks. */
  readonly gatewayTasks?: GatewayTasksOptions;
}

export interface Gateway {
  /** The MCP endpoint. */
  readonly url: string;
  readonly port: number;
  /**
   * Stops listening, ends notification streams and waits up to `drainMs` for requests in flight. Then it disconnects
   * the remaining clients, which cancels their calls. Close Heddle afterwards.
   */
  close(drainMs?: number): Promise<void>;
}

const DEFAULT_DRAIN_MS = 300;

/**
 * Serves MCP at `/mcp`, and each profile at `/mcp/<profile>`, over Streamable HTTP and WebSocket. Serves HTTP+SSE clients
 * (2024-11-05) at `/sse`. Rejects if the port is taken, or if other machines could call without a credential.
 */
export async function openGateway(options: GatewayOptions): Promise<Gateway> {
  const { host } = options;
  const afterSignIn = callsAfterSignIn({ heddle: options.heddle, ...options.signInWait });
  const heddle: Heddle = { ...options.heddle, dispatch: afterSignIn.dispatch };
  const sessions = openSessions(options.sessions);
  const continuations = openContinuations(heddle, {
    secrets: options.stateSecrets,
    gatewayTasks: options.gatewayTasks,
  });
  const responses = openResponses();
  const closing = new AbortController();
  const handler = mcpHandler(heddle, continuations);
  const { handleRequest, finish } = trackInFlight(handler);
  const connections = clientConnections({ heddle, handler, timer: options.timer ?? realTimer });
  const { maxBodyBytes, timer, proofKey, report } = options;
  const unsent = new UnsentBytes({ limits: options.unsent, timer, report });
  let url = ''; // Known once the server listens.
  const prove = proofKey === undefined ? undefined : (challenge: string) => proofOf({ url, proofKey }, challenge);
  const { settings } = heddle.access;
  const signIn = signInRoutes({
    ...{ heddle, authenticate: options.authenticate, closing: closing.signal },
    listeningUrl: () => url,
    onSignedIn: afterSignIn.onSignedIn,
  });
  const { server, fast } = httpServer({
    admitRequest: requestAdmitter({
      ...options,
      prove,
      isSignInPath: (path) => signInPathOf(path, settings().gateway.publicUrl) !== undefined,
    }),
    http: streamableHttp({
      ...{ handleRequest, sessions, maxBodyBytes, timer },
      onRootsChanged: (session, caller) => passRootsChange(heddle, { ...session, caller }),
    }),
    ws: wsEndpoint(connections, maxBodyBytes, unsent),
    sse: sseEndpoint(connections, maxBodyBytes, unsent),
    api: options.api,
    signIn,
    responses,
    unsent,
    closing: closing.signal,
  });
  await listen(server, options);
  const { port } = server.address() as AddressInfo;
  url = `http://${host.includes(':') ? `[${host}]` : host}:${port}/mcp`;
  const stopPages = heddle.browserSignIns.serveAt(signIn.pages);

  const announcing = announceChanges(heddle, sessions, closing.signal);
  return {
    port,
    url,
    async close(drainMs = DEFAULT_DRAIN_MS) {
      closing.abort();
      stopPages();
      await announcing;
      continuations.close();
      const closed = new Promise((resolve) => server.close(resolve));
      fast.finish();
      for (const session of sessions.all()) endStreams(session);
      const deadline = AbortSignal.timeout(drainMs);
      await Promise.all([finish(deadline), connections.close(deadline)]);
      await responses.finished(deadline);
      server.closeAllConnections();
      fast.close();
      unsent.close();
      await closed;
    },
  };
}

function endStreams({ subscriptions, streams }: Session): void {
  subscriptions.close();
  for (const stream of streams) stream.end();
}

async function announceChanges(heddle: Heddle, sessions: Sessions, signal: AbortSignal): Promise<void> {
  for await (const change of heddle.changes(ALL_CHANGES, signal)) {
    if (change.kind !== 'catalog') continue;
    const isFor = ({ callerId, capabilities }: Session) =>
      isChangeVisibleTo(change, {
        callerId,
        capabilities: narrowExtensions(capabilities, heddle.catalog),
        era: 'legacy',
      });
    announceToSessions(sessions, `notifications/${change.subject}/list_changed`, isFor);
  }
}

function listen(server: Server, { host, port }: GatewayOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}
