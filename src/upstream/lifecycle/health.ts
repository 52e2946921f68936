import { HeddleError, UpstreamError } from '../../core/errors.ts';
import { repeatEvery, type Time, type Timer } from '../../core/time.ts';
import type { Connection } from '../connection.ts';
import { isSignInNeeded } from '../failure.ts';
import { stderrReason } from '../transports/stderr-reason.ts';
import type { ServerPlan } from './plan-server.ts';
import type { ServerState, StateEvent } from './server-state.ts';

const PROBE_MS = 5000;

export interface HealthOptions {
  readonly plan: Pick<ServerPlan, 'credential' | 'autoConnect' | 'health'>;
  readonly time: Time;
  readonly connection: () => Connection | undefined;
  /** Returns how long that connection has been open. */
  readonly upMs: () => number;
  readonly state: () => ServerState;
  /** Receives the outcome of each probe. */
  readonly onEvent: (event: StateEvent) => void;
}

/** The health check of one server. */
export interface Health {
  /** Notes that a message of the server arrived: the next probe is due one interval later. */
  onMessage(): void;
  /**
   * Probes an idle server. For one that needs a sign-in, checks whether that has happened. Skips a server with calls in
   * flight, or with a message in the last interval.
   */
  check(): Promise<void>;
}

export function watchHealth({ plan, time, connection, upMs, state, onEvent }: HealthOptions): Health {
  let lastMessageAt = Number.NEGATIVE_INFINITY;
  let probing = false;

  // After a missed probe only an answered probe makes a server healthy again.
  const isDue = () => time.clock() - lastMessageAt >= plan.health.intervalMs || !isHealthy(state());

  /** Sees whether a credential of any process has ended a refusal, without a request to the server. */
  async function checkSignIn(): Promise<void> {
    const credential = plan.credential?.();
    if (!credential || (await credential.refusal().catch(HeddleError.from))) return;
    onEvent({ kind: 'signed-in' });
    if (plan.autoConnect) onEvent({ kind: 'wanted', at: time.clock() });
  }

  return {
    onMessage() {
      lastMessageAt = time.clock();
    },
    async check() {
      if (state().state === 'needs-auth') return checkSignIn();
      const probed = connection();
      if (!probed || probing || probed.inFlight() > 0 || !isDue()) return;
      probing = true;
      const event = await probe(probed, time, upMs);
      probing = false;
      if (connection() === probed) onEvent(event); // Otherwise the loss of the connection was reported already.
    },
  };
}

/** A server with the interval of its checks. */
interface Checked extends Pick<Health, 'check'> {
  readonly plan: Pick<ServerPlan, 'health'>;
}

/** Repeats the checks of servers, each in its interval. Servers with the same interval share a timer. */
export function repeatChecks(timer: Timer, servers: () => Iterable<Checked>): { follow(): void; stop(): void } {
  const timers = new Map<number, () => void>();
  const intervalOf = ({ plan }: Checked) => plan.health.intervalMs;

  function check(intervalMs: number): void {
    for (const server of servers()) if (intervalOf(server) === intervalMs) void server.check();
  }

  function use(intervals: ReadonlySet<number>): void {
    for (const [intervalMs, stop] of timers) {
      if (intervals.has(intervalMs)) continue;
      stop();
      timers.delete(intervalMs);
    }
    for (const intervalMs of intervals)
      if (!timers.has(intervalMs))
        timers.set(
          intervalMs,
          repeatEvery(timer, intervalMs, () => check(intervalMs)),
        );
  }

  const follow = () => use(new Set([...servers()].map(intervalOf)));
  follow();
  return { follow, stop: () => use(new Set()) };
}

const isHealthy = (state: ServerState) => state.state === 'connected' && state.health === 'ok' && state.misses === 0;

/** Sends one probe. A refusal counts as an answer; only silence is a miss. */
async function probe(connection: Connection, { timer, clock }: Time, upMs: () => number): Promise<StateEvent> {
  const timeout = new AbortController();
  const cancel = timer(PROBE_MS, () => timeout.abort());
  try {
    await connection.probe(timeout.signal);
    return { kind: 'probe-answered' };
  } catch (thrown) {
    const error: HeddleError = HeddleError.from(thrown);
    if (isSignInNeeded(thrown)) return { kind: 'auth-needed', error: thrown, at: clock() };
    if (error.code === 'AUTH_NEEDED') return { kind: 'trouble', reason: error.message };
    if (error.code === 'UPSTREAM_REFUSED') return { kind: 'probe-answered' };
    return { kind: 'probe-missed', error: connectionHung(connection.server), upMs: upMs(), at: clock() };
  } finally {
    cancel();
  }
}

const lost = (server: string, message: string, fix = `Run \`heddle doctor ${server}\` to see why.`) =>
  new UpstreamError('UPSTREAM_FAILED', message, { delivered: 'no', fix });

/** Returns why a connection ended without a request from here. */
export function lossOf(
  connection: Connection,
): Pick<Extract<StateEvent, { kind: 'dropped' }>, 'error' | 'lostSession'> {
  const { server } = connection;
  const lostSession = connection.lostSession();
  if (!lostSession) return { error: connectionDropped(connection) };
  return { error: lost(server, `${server} no longer knew the session, so its connection was closed.`), lostSession };
}

/** Returns the error of a connection that ended otherwise: how its process ended, or why it closed. */
function connectionDropped({ server, ending, stderrTail }: Connection): UpstreamError {
  const end = ending?.();
  const reason = stderrReason(stderrTail());
  const dropped = `The connection to ${server} dropped`;
  if (end === undefined) return lost(server, reason === '' ? `${dropped}.` : `${dropped}. ${reason}`);
  // A new process may run well, so that `heddle doctor` finds nothing.
  return reason === ''
    ? lost(server, `${dropped}: ${end}.`, 'Run its command by hand to see what it prints.')
    : lost(server, `${dropped}: ${end}. Its stderr: ${reason}`, 'Correct what its stderr names.');
}

/** The error of a connection that is open but answers no probe. */
const connectionHung = (server: string) => lost(server, `${server} stopped answering, so its connection was closed.`);
