import { nameFor } from '../../core/call/name-for.ts';
import { isRepeatable } from '../../core/call/repeatable.ts';
import type { Continuation, Handler, ResolvedCall, Result } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { type Clock, realTimer, steadyClock, type Timer } from '../../core/time.ts';
import type { Servers } from '../../upstream/servers.ts';
import { attempts, type Tried } from './attempt.ts';
import type { BreakerPass } from './breaker.ts';
import { inOrder } from './choose.ts';
import { hedge } from './hedge.ts';
import type { LiveMetrics } from './metrics.ts';
import { retryBudget } from './retry-budget.ts';

export interface InvokeOptions {
  readonly servers: Pick<Servers, 'ready' | 'connectionFor' | 'resume' | 'statusOf' | 'connectionsTo'>;
  readonly metrics: LiveMetrics;
  /** Within a pool, higher is asked first. */
  readonly priorityOf?: (server: string) => number;
  /** Counts a call to one server of a pool, or says why it may not have it. */
  readonly admitTo?: (server: string, call: ResolvedCall) => HeddleError | undefined;
  readonly clock?: Clock;
  /** Dates the counts of calls, which outlive this process. */
  readonly wallClock?: Clock;
  readonly alarm?: Timer;
}

/**
 * The innermost handler: sends the call to the first server that will take it.
 * Moves on to the next only when the failed one certainly did not act, or when
 * acting twice is harmless. What may have happened is never repeated. A call
 * that goes on after a question stays with the server that asked.
 */
export function invoke(options: InvokeOptions): Handler<ResolvedCall> {
  const { servers, metrics, priorityOf = () => 0, admitTo = () => undefined } = options;
  const { clock = steadyClock, wallClock = Date.now, alarm = realTimer } = options;
  const budget = retryBudget(clock);
  const attempt = attempts({ servers, metrics, clock, wallClock });
  const choosing = { statusOf: servers.statusOf, metricsOf: metrics.tool, priorityOf, clock, wallClock };

  function askOnly(server: string, call: ResolvedCall): Promise<Result> {
    const pass = attempt.enter(server, call);
    return typeof pass === 'string' ? attempt.send(server, call, pass).then(resultOf) : Promise.reject(pass);
  }

  function enter(server: string, call: ResolvedCall): BreakerPass | HeddleError {
    const pass = attempt.enter(server, call);
    if (typeof pass !== 'string') return pass;
    const refused = admitTo(server, call);
    if (refused) attempt.leave(server, call, pass);
    return refused ?? pass;
  }

  /** The next that may be asked. Whoever is left alone did nothing, and is passed over. */
  function enterNext(queue: Queue, call: ResolvedCall): Ask | undefined {
    for (;;) {
      const server = queue.names[queue.at++];
      if (server === undefined) return undefined;
      const pass = enter(server, call);
      if (typeof pass === 'string') return (round) => attempt.send(server, round, pass);
      queue.refused = sooner(queue.refused, pass);
    }
  }

  async function askOneOf(names: readonly string[], call: ResolvedCall): Promise<Result> {
    const queue: Queue = { names, at: 0, refused: undefined };
    let asked = 0;
    let failure: unknown;

    function next(): Ask | undefined {
      if (asked > 0 && budget.isSpent()) return undefined;
      const ask = enterNext(queue, call);
      if (ask && asked++ > 0) budget.take();
      return ask;
    }

    const { hedgeAfterMs: afterMs } = call.target.facts;
    for (let first = next(); first; first = next()) {
      const isHedged = afterMs !== undefined && isRepeatable(call);
      const tried = await (isHedged ? hedge({ call, first, second: next, afterMs, alarm }) : first(call));
      if ('result' in tried) return numbered(tried.result, asked);
      failure = tried.failure;
      if (!tried.mayGoOn) break;
    }
    throw failure ?? queue.refused;
  }

  async function goOn(call: ResolvedCall, { kind, server }: Continuation): Promise<Result> {
    if (!call.target.servers.includes(server)) throw goneElsewhere(call, server);
    return resultOf(await (kind === 'suspended' ? attempt.resume(server, call) : attempt.send(server, call, 'in')));
  }

  return function invoke(call) {
    if (call.continuation) return goOn(call, call.continuation);
    budget.count();
    const { servers } = call.target;
    if (servers.length === 1) return askOnly(servers[0], call);
    return askOneOf(inOrder(call, choosing), call.inputResponses ? unanswered(call) : call);
  };
}

/** Which of several servers asked is not known, and none of the others may hear what a user told one. */
function unanswered({ inputResponses: _, ...call }: ResolvedCall): ResolvedCall {
  return call;
}

type Ask = (call: ResolvedCall) => Promise<Tried>;

/** Servers that wait to be asked, and why those were passed over that cannot be now. */
interface Queue {
  readonly names: readonly string[];
  at: number;
  refused: HeddleError | undefined;
}

function resultOf(tried: Tried): Result {
  if ('result' in tried) return tried.result;
  throw tried.failure;
}

const numbered = (result: Result, attempts: number): Result =>
  attempts === 1 || result.kind !== 'complete' ? result : { ...result, provenance: { ...result.provenance, attempts } };

/** Where nobody can be asked, the caller hears of the one that can be asked first. */
function sooner(known: HeddleError | undefined, other: HeddleError): HeddleError {
  return known && waitOf(known) <= waitOf(other) ? known : other;
}

const waitOf = ({ details }: HeddleError) => Number(details.retryAfterMs ?? Number.POSITIVE_INFINITY);

const goneElsewhere = (call: ResolvedCall, server: string) =>
  new HeddleError('INPUT_INVALID', `${nameFor(call)} no longer belongs to ${server}, which asked.`, {
    fix: 'Look whether the call has had effects, then call again.',
  });
