import { callAt, nameAt } from '../../core/call/equivalent.ts';
import { nameFor } from '../../core/call/name-for.ts';
import { hasUnknownOutcome, isRepeatable, REPEAT_FIX, repeatAdvice } from '../../core/call/repeatable.ts';
import { isTaskPoll } from '../../core/call/task.ts';
import type { ResolvedCall, Result } from '../../core/call.ts';
import { ERRORS } from '../../core/error-codes.ts';
import { HeddleError, triedAt, UpstreamError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import type { Clock } from '../../core/time.ts';
import type { Connection } from '../../upstream/connection.ts';
import type { Servers } from '../../upstream/servers.ts';
import { type NameLink, withNamedLinks } from '../views/name-links.ts';
import { type BreakerPass, breakers } from './breaker.ts';
import { callCounts } from './count-calls.ts';
import type { LiveMetrics } from './metrics.ts';

export interface AttemptOptions {
  readonly servers: Pick<Servers, 'ready' | 'connectionFor' | 'resume' | 'connectionsTo'>;
  readonly metrics: LiveMetrics;
  readonly clock: Clock;
  readonly wallClock: Clock;
  /** Names the resources that results link. Without it links keep their URIs. */
  readonly nameLink?: NameLink | undefined;
}

/** The result of one attempt. `mayGoOn` is true if another server may be called: the call had no effect or is repeatable. */
export type Tried = { readonly result: Result } | { readonly failure: unknown; readonly mayGoOn: boolean };

/** Sends calls to single servers, and updates metrics and breakers from their ends. */
export interface Attempts {
  /** Returns a pass, or the error that refuses the call before it is sent. A pass must be used or released by `leave`. */
  enter(server: string, call: ResolvedCall): BreakerPass | UpstreamError;
  leave(server: string, call: ResolvedCall, pass: BreakerPass): void;
  send(server: string, call: ResolvedCall, pass: BreakerPass): Promise<Tried>;
  /** Continues a suspended call, whose request is still open. */
  resume(server: string, call: ResolvedCall): Promise<Tried>;
}

interface Attempted {
  readonly end: End;
  readonly startedAt: number;
  readonly pass: BreakerPass;
  /** The number of lost connections that were counted when the call was sent. */
  readonly losses: number;
}

/** The end of a call as the breaker counts it. `left` does not count. */
type Ended = 'answered' | 'failed' | 'lost' | 'left';

type End = { readonly result: Result } | { readonly thrown: unknown; readonly sent: boolean };

export function attempts({ servers, metrics, clock, wallClock, nameLink }: AttemptOptions): Attempts {
  const { identityOf } = metrics;
  const breaker = breakers({ clock, identityOf, connectionsTo: servers.connectionsTo });
  const counts = callCounts(clock, wallClock);
  // The time from which a server that sent `retryAfterMs` may be called again.
  const resting = new Map<string, number>();

  function restMs(server: string): number {
    if (resting.size === 0) return 0;
    const identity = identityOf(server);
    const left = (resting.get(identity) ?? 0) - clock();
    if (left < 0) resting.delete(identity);
    return left;
  }

  /** Counts an end and classifies it. A cancelled call, or one that was not sent, is `left`. */
  function judge(server: string, call: ResolvedCall, end: End): Ended {
    const tally = () => metrics.of(server, laneOf(call, server));
    if ('result' in end) {
      counts.answered(call, end.result, tally);
      return 'answered';
    }
    const { thrown, sent } = end;
    if (call.signal.aborted || !(thrown instanceof UpstreamError)) return 'left';
    const retryAfterMs = requestedRestOf(thrown);
    counts.failed(call, thrown, tally);
    if (typeof retryAfterMs === 'number') resting.set(identityOf(server), clock() + retryAfterMs);
    // A failed connection and a `retryAfterMs` have delays of their own.
    if (!sent || typeof retryAfterMs === 'number' || isCredentialRefused(thrown)) return 'left';
    if (thrown.code === 'UPSTREAM_REFUSED') return 'answered';
    return thrown.details.connectionLost === true ? 'lost' : 'failed';
  }

  function conclusion(server: string, call: ResolvedCall, { end, startedAt, pass, losses }: Attempted): Tried {
    const ended = judge(server, call, end);
    const lane = laneOf(call, server);
    if (ended === 'answered') breaker.answered(server, lane);
    else if (ended === 'left') breaker.left(server, lane, pass);
    else breaker.failed(server, lane, { pass, lostSince: ended === 'lost' ? losses : undefined });
    const tried = conclude(server, call, end);
    if ('result' in tried) return named(call, tried.result, nameLink);
    return { ...tried, failure: triedAt(tried.failure, server, clock() - startedAt) };
  }

  return {
    enter(server, call) {
      const rest = restMs(server);
      if (rest > 0) return refusedFor(server, rest, 'it asked to be called later');
      const pass = breaker.enter(server, laneOf(call, server));
      if (typeof pass === 'string') return pass;
      return refusedFor(server, pass, `${nameFor(call)} failed there five times in a row`);
    },
    leave: (server, call, pass) => breaker.left(server, laneOf(call, server), pass),
    send(server, call, pass) {
      const there = callAt(call, server);
      const [losses, startedAt] = [breaker.losses(), clock()];
      const over = (end: End) => conclusion(server, there, { end, startedAt, pass, losses });
      return sendTo(servers, server, there).then((end) =>
        // The connection has closed itself, so this opens a new one.
        'thrown' in end && isSessionGone(end.thrown) ? sendTo(servers, server, there).then(over) : over(end),
      );
    },
    async resume(server, call) {
      const there = callAt(call, server);
      const startedAt = clock();
      const end = await servers.resume(there).then(answered, failed);
      return conclusion(server, there, { end, startedAt, pass: 'in', losses: 0 }); // It was sent before any loss counted now.
    },
  };
}

const answered = (result: Result): End => ({ result });
const failed = (thrown: unknown): End => ({ thrown, sent: true });

// Hot path: with a ready connection, a promise chain costs less than an async function.
function sendTo(servers: AttemptOptions['servers'], server: string, call: ResolvedCall): Promise<End> {
  const ready = servers.ready(server, call);
  return ready ? ready.send(call).then(answered, failed) : connectAndSend(servers, server, call);
}

async function connectAndSend(servers: AttemptOptions['servers'], server: string, call: ResolvedCall): Promise<End> {
  let connection: Connection;
  try {
    connection = await servers.connectionFor(server, call, call.signal);
  } catch (thrown) {
    return { thrown, sent: false };
  }
  return connection.send(call).then(answered, failed);
}

/** Names the links of a tool or prompt. The contents of reads are named before the cache: see `withNamedContents`. */
const named = (call: ResolvedCall, result: Result, nameLink: NameLink | undefined): Tried => {
  const hasLinks = call.kind === 'tool' || call.kind === 'prompt';
  return { result: nameLink && hasLinks ? withNamedLinks(call, result, nameLink) : result };
};

function conclude(server: string, call: ResolvedCall, end: End): Tried {
  if ('result' in end) return call.target.facts.builtin ? ofBuiltIn(server, call, end.result) : end;
  const { thrown, sent } = end;
  // The call was not sent, so it had no effect.
  if (!sent) return { failure: thrown, mayGoOn: !call.signal.aborted };
  return { failure: toOutcomeUnknown(call, server, thrown), mayGoOn: mayTryNext(call, thrown) };
}

/** Converts the result of a built-in tool whose outcome is unknown. No other server can report that. */
function ofBuiltIn(server: string, call: ResolvedCall, result: Result): Tried {
  if (!hasUnknownOutcome(result)) return { result };
  const { content } = result.value;
  const texts = (Array.isArray(content) ? content : []).flatMap((one) =>
    isObject(one) && typeof one.text === 'string' ? one.text : [],
  );
  const message = `${texts.join(' ')} ${nameFor(call)} may have happened or not; it was not repeated.`;
  const failure = new HeddleError('OUTCOME_UNKNOWN', message.trimStart(), { details: { server } });
  return { failure, mayGoOn: false };
}

/** Returns the key of breakers and metrics: the tool, or '' for all other calls, which may have any number of names. */
const laneOf = ({ kind, target }: ResolvedCall, server: string): string =>
  kind === 'tool' ? nameAt(target, server) : '';

/** Returns the delay that a server requested. Another credential ends that of a refused one. */
const requestedRestOf = ({ code, details }: UpstreamError) =>
  code === 'AUTH_NEEDED' ? undefined : details.retryAfterMs;

/** Returns true if a credential was refused or could not be had. That concerns its principal, not the server. */
const isCredentialRefused = ({ code, details }: UpstreamError): boolean =>
  code === 'AUTH_NEEDED' || details.unsent === true;

/** Returns true if the server rejected the call because the session is unknown. */
const isSessionGone = (thrown: unknown): boolean =>
  thrown instanceof UpstreamError && thrown.delivered === 'no' && thrown.details.sessionGone === true;

function mayTryNext(call: ResolvedCall, thrown: unknown): boolean {
  if (call.signal.aborted || !(thrown instanceof UpstreamError) || thrown.code === 'UPSTREAM_REFUSED') return false;
  return thrown.delivered === 'no' || isRepeatable(call);
}

/** Converts a failure after sending to OUTCOME_UNKNOWN, unless the call is repeatable or a task poll. */
function toOutcomeUnknown(call: ResolvedCall, server: string, thrown: unknown): unknown {
  const unknown = thrown instanceof UpstreamError && thrown.delivered === 'maybe' && thrown.code !== 'UPSTREAM_REFUSED';
  if (!unknown || isRepeatable(call) || isTaskPoll(call)) return thrown;
  const advice = repeatAdvice(call.target);
  return new HeddleError(
    'OUTCOME_UNKNOWN',
    `${thrown.message} ${nameFor(call)} may have happened or not; it was not repeated.${advice}`,
    { cause: thrown, details: { server, because: thrown.code }, fix: advice === '' ? fixAfter(thrown) : REPEAT_FIX },
  );
}

/** Returns the fix of an unknown outcome, with that of its cause if it is more than the general one of its code. */
const fixAfter = ({ code, fix }: UpstreamError): string =>
  fix === ERRORS[code].fix ? ERRORS.OUTCOME_UNKNOWN.fix : `${ERRORS.OUTCOME_UNKNOWN.fix} ${fix}`;

function refusedFor(server: string, waitMs: number, reason: string): UpstreamError {
  const retryAfterMs = Math.ceil(waitMs);
  return new UpstreamError('UPSTREAM_UNREACHABLE', `${server} is not called for now: ${reason}.`, {
    delivered: 'no',
    details: { server, retryAfterMs, latencyMs: 0 },
    fix: `Call again in ${Math.ceil(retryAfterMs / 1000)} s; \`heddle doctor ${server}\` shows its state.`,
  });
}
