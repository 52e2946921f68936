import { callAt, nameAt } from '../../core/call/equivalent.ts';
import { nameFor } from '../../core/call/name-for.ts';
import { isRepeatable } from '../../core/call/repeatable.ts';
import { isTaskPoll } from '../../core/call/task.ts';
import type { ResolvedCall, Result } from '../../core/call.ts';
import { HeddleError, UpstreamError } from '../../core/errors.ts';
import type { Clock } from '../../core/time.ts';
import type { Connection } from '../../upstream/connection.ts';
import type { Servers } from '../../upstream/servers.ts';
import { type BreakerPass, breakers } from './breaker.ts';
import { callCounts } from './count-calls.ts';
import type { LiveMetrics } from './metrics.ts';

export interface AttemptOptions {
  readonly servers: Pick<Servers, 'ready' | 'connectionFor' | 'resume' | 'connectionsTo'>;
  readonly metrics: LiveMetrics;
  readonly clock: Clock;
  readonly wallClock: Clock;
}

/** What came of asking one server. `mayGoOn`: asking another cannot do anything twice, or twice is harmless. */
export type Tried = { readonly result: Result } | { readonly failure: unknown; readonly mayGoOn: boolean };

/** Asks one server at a time, and learns from how that ends whom to leave alone. */
export interface Attempts {
  /** A pass, or why the server is left alone for now: then it certainly did nothing. A pass is used or given back. */
  enter(server: string, call: ResolvedCall): BreakerPass | UpstreamError;
  leave(server: string, call: ResolvedCall, pass: BreakerPass): void;
  send(server: string, call: ResolvedCall, pass: BreakerPass): Promise<Tried>;
  /** Goes on with a call that waits in an open request. */
  resume(server: string, call: ResolvedCall): Promise<Tried>;
}

interface Attempted {
  readonly end: End;
  readonly pass: BreakerPass;
  /** The number of lost connections that were counted when the call was sent. */
  readonly losses: number;
}

/** How a call ended, as far as it says something about the server: `left` says nothing. */
type Ended = 'answered' | 'failed' | 'lost' | 'left';

type End = { readonly result: Result } | { readonly thrown: unknown; readonly sent: boolean };

export function attempts({ servers, metrics, clock, wallClock }: AttemptOptions): Attempts {
  const { identityOf } = metrics;
  const breaker = breakers({ clock, identityOf, connectionsTo: servers.connectionsTo });
  const counts = callCounts(clock, wallClock);
  // Servers that said when to come back.
  const resting = new Map<string, number>();

  function restMs(server: string): number {
    if (resting.size === 0) return 0;
    const who = identityOf(server);
    const left = (resting.get(who) ?? 0) - clock();
    if (left < 0) resting.delete(who);
    return left;
  }

  /** What an end says of the server. Whoever gave up, or could not have been sent at all, says nothing. */
  function judge(server: string, call: ResolvedCall, end: End): Ended {
    const tally = () => metrics.of(server, laneOf(call, server));
    if ('result' in end) {
      counts.answered(call, end.result, tally);
      return 'answered';
    }
    const { thrown, sent } = end;
    if (call.signal.aborted || !(thrown instanceof UpstreamError)) return 'left';
    const { retryAfterMs } = thrown.details;
    counts.failed(call, thrown, tally);
    if (typeof retryAfterMs === 'number') resting.set(identityOf(server), clock() + retryAfterMs);
    // One that cannot be connected has a delay of its own, and so has one that says when to come back.
    if (!sent || typeof retryAfterMs === 'number') return 'left';
    if (thrown.code === 'UPSTREAM_REFUSED') return 'answered';
    return thrown.details.connectionLost === true ? 'lost' : 'failed';
  }

  function conclusion(server: string, call: ResolvedCall, { end, pass, losses }: Attempted): Tried {
    const ended = judge(server, call, end);
    const lane = laneOf(call, server);
    if (ended === 'answered') breaker.answered(server, lane);
    else if (ended === 'left') breaker.left(server, lane, pass);
    else breaker.failed(server, lane, { pass, lostSince: ended === 'lost' ? losses : undefined });
    return conclude(server, call, end);
  }

  return {
    enter(server, call) {
      const rest = restMs(server);
      if (rest > 0) return leftAlone(server, rest, 'it asked to be called later');
      const pass = breaker.enter(server, laneOf(call, server));
      if (typeof pass === 'string') return pass;
      return leftAlone(server, pass, `${nameFor(call)} failed there again and again`);
    },
    leave: (server, call, pass) => breaker.left(server, laneOf(call, server), pass),
    send(server, call, pass) {
      const there = callAt(call, server);
      const losses = breaker.losses();
      const over = (end: End) => conclusion(server, there, { end, pass, losses });
      return ask(servers, server, there).then((end) =>
        // The line has closed itself by now, so a new one is opened.
        'thrown' in end && isSessionGone(end.thrown) ? ask(servers, server, there).then(over) : over(end),
      );
    },
    async resume(server, call) {
      const there = callAt(call, server);
      const end = await servers.resume(there).then(answered, failed);
      // The call was sent in an earlier round: before any loss that is counted by now.
      return conclusion(server, there, { end, pass: 'in', losses: 0 });
    },
  };
}

const answered = (result: Result): End => ({ result });
const failed = (thrown: unknown): End => ({ thrown, sent: true });

// Every call comes this way: where a line is ready, a chain costs it less than an async function.
function ask(servers: AttemptOptions['servers'], server: string, call: ResolvedCall): Promise<End> {
  const ready = servers.ready(server, call);
  return ready ? ready.send(call).then(answered, failed) : connectAndAsk(servers, server, call);
}

async function connectAndAsk(servers: AttemptOptions['servers'], server: string, call: ResolvedCall): Promise<End> {
  let connection: Connection;
  try {
    connection = await servers.connectionFor(server, call, call.signal);
  } catch (thrown) {
    return { thrown, sent: false };
  }
  return connection.send(call).then(answered, failed);
}

function conclude(server: string, call: ResolvedCall, end: End): Tried {
  if ('result' in end) return end;
  const { thrown, sent } = end;
  // It was not asked yet, so it did not act, whatever went wrong.
  if (!sent) return { failure: thrown, mayGoOn: !call.signal.aborted };
  return { failure: honest(call, server, thrown), mayGoOn: mayTryNext(call, thrown) };
}

/** What is counted together: a tool, or all else that a server is asked for, which may have any number of names. */
const laneOf = ({ kind, target }: ResolvedCall, server: string): string =>
  kind === 'tool' ? nameAt(target, server) : '';

/** The server has forgotten our session, and said so instead of acting. */
const isSessionGone = (thrown: unknown): boolean =>
  thrown instanceof UpstreamError && thrown.delivered === 'no' && thrown.details.sessionGone === true;

function mayTryNext(call: ResolvedCall, thrown: unknown): boolean {
  if (call.signal.aborted || !(thrown instanceof UpstreamError) || thrown.code === 'UPSTREAM_REFUSED') return false;
  return thrown.delivered === 'no' || isRepeatable(call);
}

/** A failure after the call was sent is not "failed": nobody knows, and the caller has to. */
function honest(call: ResolvedCall, server: string, thrown: unknown): unknown {
  const unknown = thrown instanceof UpstreamError && thrown.delivered === 'maybe' && thrown.code !== 'UPSTREAM_REFUSED';
  if (!unknown || isRepeatable(call) || isTaskPoll(call)) return thrown;
  return new HeddleError(
    'OUTCOME_UNKNOWN',
    `${thrown.message} ${nameFor(call)} may have happened or not; it was not repeated.`,
    { cause: thrown, details: { server, because: thrown.code } },
  );
}

function leftAlone(server: string, waitMs: number, why: string): UpstreamError {
  const retryAfterMs = Math.ceil(waitMs);
  return new UpstreamError('UPSTREAM_UNREACHABLE', `${server} is left alone for now: ${why}.`, {
    delivered: 'no',
    details: { server, retryAfterMs },
    fix: `Call again in ${Math.ceil(retryAfterMs / 1000)} s; \`heddle doctor ${server}\` shows how it is.`,
  });
}
