import { nameFor } from '../../core/call/name-for.ts';
import { isRepeatable } from '../../core/call/repeatable.ts';
import type { Handler, ResolvedCall, Result, ServerContinuation } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { type Clock, realTimer, steadyClock, type Timer } from '../../core/time.ts';
import type { Servers } from '../../upstream/servers.ts';
import { isSignInTool } from '../entries/sign-in-tool.ts';
import type { LiveCatalog } from '../live-catalog.ts';
import { attempts, type Tried } from './attempt.ts';
import type { BreakerPass } from './breaker.ts';
import { hasOutputSchema, type OutputCheck, outputChecker } from './check-output.ts';
import { inOrder } from './choose.ts';
import { hedge } from './hedge.ts';
import type { LiveMetrics } from './metrics.ts';
import { retryBudget } from './retry-budget.ts';

export interface InvokeOptions {
  readonly servers: Pick<Servers, 'ready' | 'connectionFor' | 'resume' | 'statusOf' | 'connectionsTo'>;
  readonly metrics: LiveMetrics;
  /** Returns the priority in a pool; higher is called first. */
  readonly priorityOf?: (server: string) => number;
  /** Counts a call to one server of a pool, or returns the error that refuses it. */
  readonly admitTo?: (server: string, call: ResolvedCall) => HeddleError | undefined;
  /** Returns the effect of a result that does not match its output schema. `flag` unless given. */
  readonly outputCheckOf?: (server: string) => OutputCheck;
  /** Runs the tool for signing in to a server with per-user credentials. */
  readonly signIn?: Handler<ResolvedCall>;
  /** Names the resources that results link. Without it links keep their URIs. */
  readonly catalog?: Pick<LiveCatalog, 'nameLink'>;
  readonly clock?: Clock;
  /** The clock of the metrics, which outlive this process. */
  readonly wallClock?: Clock;
  readonly timer?: Timer;
}

/**
 * Builds the innermost handler, which sends a call to the first server that accepts it. It fails over only if the call
 * had no effect or is repeatable. A continuation stays with its server.
 */
export function invoke(options: InvokeOptions): Handler<ResolvedCall> {
  const route = router(options);
  const checkOutput = outputChecker(options.outputCheckOf ?? (() => 'flag'));
  return function invoke(call) {
    if (call.kind !== 'tool' || !hasOutputSchema(call.target)) return route(call);
    return route(call).then((result) => checkOutput(call, result));
  };
}

function router(options: InvokeOptions): Handler<ResolvedCall> {
  const { servers, metrics, priorityOf = () => 0, admitTo = () => undefined } = options;
  const { clock = steadyClock, wallClock = Date.now, timer = realTimer, catalog } = options;
  const budget = retryBudget(clock);
  const attempt = attempts({ servers, metrics, clock, wallClock, nameLink: catalog?.nameLink });
  const choosing = { statusOf: servers.statusOf, metricsOf: metrics.tool, priorityOf, clock, wallClock };

  function callOnly(server: string, call: ResolvedCall): Promise<Result> {
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

  /** Returns the attempt at the next server that accepts the call. Refused servers are skipped. */
  function enterNext(queue: Queue, call: ResolvedCall): Attempt | undefined {
    for (;;) {
      const server = queue.names[queue.at++];
      if (server === undefined) return undefined;
      const pass = enter(server, call);
      if (typeof pass === 'string') return (sent) => attempt.send(server, sent, pass);
      queue.refused = sooner(queue.refused, pass);
    }
  }

  async function callOneOf(names: readonly string[], call: ResolvedCall): Promise<Result> {
    const queue: Queue = { names, at: 0, refused: undefined };
    let attempted = 0;
    let failure: unknown;

    function next(): Attempt | undefined {
      if (attempted > 0 && budget.isSpent()) return undefined;
      const found = enterNext(queue, call);
      if (found && attempted++ > 0) budget.take();
      return found;
    }

    const { hedgeAfterMs: afterMs } = call.target.facts;
    for (let first = next(); first; first = next()) {
      const isHedged = afterMs !== undefined && isRepeatable(call);
      const tried = await (isHedged ? hedge({ call, first, second: next, afterMs, timer }) : first(call));
      if ('result' in tried) return numbered(tried.result, attempted);
      failure = tried.failure;
      if (!tried.mayGoOn) break;
    }
    throw failure ?? queue.refused;
  }

  async function continueAt(call: ResolvedCall, { kind, server }: ServerContinuation): Promise<Result> {
    if (!call.target.servers.includes(server)) throw goneElsewhere(call, server);
    return resultOf(await (kind === 'suspended' ? attempt.resume(server, call) : attempt.send(server, call, 'in')));
  }

  return function route(call) {
    const { continuation } = call;
    // The stage `approve` has removed the continuation of an approved call: no server has it yet.
    if (continuation?.kind === 'approval') return Promise.reject(notApproved(call));
    if (continuation) return continueAt(call, continuation);
    budget.count();
    const { servers } = call.target;
    if (options.signIn && isSignInTool(call.target)) return options.signIn(call);
    if (servers.length === 1) return callOnly(servers[0], call);
    return callOneOf(inOrder(call, choosing), call.inputResponses ? withoutResponses(call) : call);
  };
}

/** Removes the input responses: the server that requested them is unknown, and no other server may get them. */
function withoutResponses({ inputResponses: _, ...call }: ResolvedCall): ResolvedCall {
  return call;
}

type Attempt = (call: ResolvedCall) => Promise<Tried>;

/** The servers that are left to call, and the refusal with the shortest wait. */
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

/** Returns the refusal with the shorter wait. */
function sooner(known: HeddleError | undefined, other: HeddleError): HeddleError {
  return known && waitOf(known) <= waitOf(other) ? known : other;
}

const waitOf = ({ details }: HeddleError) => Number(details.retryAfterMs ?? Number.POSITIVE_INFINITY);

const goneElsewhere = (call: ResolvedCall, server: string) =>
  new HeddleError('INPUT_INVALID', `${nameFor(call)} no longer belongs to ${server}, which requested the input.`, {
    fix: 'Check whether the call had effects, then call again.',
  });

const notApproved = ({ name }: ResolvedCall) =>
  new HeddleError('APPROVAL_REQUIRED', `${name} reached its server without its approval, and was not sent.`);
