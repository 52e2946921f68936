import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Alarm, realAlarm } from '../core/alarm.ts';
import { ALL_CHANGES } from '../core/server-status.ts';
import type { Heddle } from '../heddle.ts';
import { concerns } from './able-caller.ts';
import type { Arrival } from './arrival.ts';
import { type DoorOptions, doors } from './doors.ts';
import { proofOf } from './gateway-proof.ts';
import { handouts } from './handouts.ts';
import type { HeldCallsOptions } from './held-calls.ts';
import { httpServer } from './http-server.ts';
import { mcpHandler } from './mcp-handler.ts';
import { mcpHttp } from './mcp-http.ts';
import { openResponses } from './open-responses.ts';
import { sseFace } from './serve-sse.ts';
import { wsFace } from './serve-ws.ts';
import { servedLines } from './served-lines.ts';
import { announce } from './session-stream.ts';
import { openSessions, type Session, type Sessions, type SessionsOptions } from './sessions.ts';
import { underWay } from './under-way.ts';

export interface GatewayOptions extends Omit<DoorOptions, 'heddle' | 'prove'> {
  readonly heddle: Heddle;
  /** Answers what is under `/api/`; the console's. */
  readonly api: (arrival: Omit<Arrival, 'stillMay'>) => Promise<void>;
  /** 0 takes any free port. */
  readonly port: number;
  readonly maxBodyBytes: number;
  /** The key by which this gateway proves that it wrote its note; without it there is no proof. */
  readonly proofKey?: string | undefined;
  readonly alarm?: Alarm;
  /** Seal what modern clients bring back with their answers; made for this gateway alone when absent. */
  readonly stateSecrets?: readonly Buffer[];
  /** How many sessions there may be. */
  readonly sessions?: SessionsOptions;
  /** When calls that take long are held for their clients, and how many. */
  readonly heldCalls?: HeldCallsOptions;
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
  const given = handouts(heddle, { secrets: options.stateSecrets, held: options.heldCalls });
  const responses = openResponses();
  const closing = new AbortController();
  const { answer, finish } = underWay(mcpHandler(heddle, given));
  const lines = servedLines(heddle, given, options.alarm ?? realAlarm);
  const { maxBodyBytes, alarm, proofKey } = options;
  let url = ''; // Known once it listens.
  const prove = proofKey === undefined ? undefined : (challenge: string) => proofOf({ url, proofKey }, challenge);
  const { server, plain } = httpServer({
    enter: doors({ ...options, prove }),
    http: mcpHttp({ answer, sessions, maxBodyBytes, alarm }),
    ws: wsFace(lines, maxBodyBytes),
    sse: sseFace(lines, maxBodyBytes),
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
      given.held.close(); // Nobody can come for them any more.
      const closed = new Promise((resolve) => server.close(resolve));
      plain.finish();
      for (const session of sessions.all()) stopListening(session);
      const patience = AbortSignal.timeout(patienceMs);
      await Promise.all([finish(patience), lines.close(patience)]);
      await responses.finished(patience);
      server.closeAllConnections();
      plain.close();
      await closed;
    },
  };
}

function stopListening({ followed, streams }: Session): void {
  followed.close();
  for (const stream of streams) stream.end();
}

async function announceChanges(heddle: Heddle, sessions: Sessions, signal: AbortSignal): Promise<void> {
  for await (const change of heddle.changes(ALL_CHANGES, signal)) {
    const isFor = ({ callerId, can }: Session) => concerns(change, { callerId, can, era: 'legacy' });
    if (change.kind === 'catalog') announce(sessions, `notifications/${change.subject}/list_changed`, isFor);
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
