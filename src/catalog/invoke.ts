import type { Continuation, Handler, ResolvedCall, Result } from '../core/call.ts';
import { HeddleError, UpstreamError } from '../core/errors.ts';
import { resumeParked } from '../upstream/call-legacy.ts';
import type { Connection } from '../upstream/connection.ts';
import type { Parking } from '../upstream/parking.ts';
import type { Servers } from '../upstream/servers.ts';

/** What is needed of the servers to send them a call. */
export type Lines = Pick<Servers, 'ready' | 'lineFor' | 'health'>;

/**
 * The innermost handler: sends the call to the first server that will take it.
 * Moves on to the next only when the failed one certainly did not act, or when
 * acting twice is harmless. What may have happened is never repeated. A call
 * that goes on after a question stays with the server that asked.
 */
export function invoke(servers: Lines, parking: Parking): Handler<ResolvedCall> {
  return async function invoke(call) {
    if (call.from) return goOn(servers, parking, call);
    const names = inOrder(call, servers);
    for (let attempt = 1; ; attempt++) {
      const tried = await ask(servers, names[attempt - 1] as string, call);
      if ('result' in tried) return numbered(tried.result, attempt);
      if (attempt === names.length || !tried.mayGoOn) throw tried.failure;
    }
  };
}

async function goOn(servers: Lines, parking: Parking, call: ResolvedCall): Promise<Result> {
  const { kind, server } = call.from as Continuation;
  if (!call.target.servers.includes(server)) throw goneElsewhere(call, server);
  if (kind === 'parked') {
    return resumeParked(parking, call).catch((thrown) => {
      throw honest(call, server, thrown);
    });
  }
  const tried = await ask(servers, server, call);
  if ('result' in tried) return tried.result;
  throw tried.failure;
}

type Tried = { readonly result: Result } | { readonly failure: unknown; readonly mayGoOn: boolean };

async function ask(servers: Lines, server: string, call: ResolvedCall): Promise<Tried> {
  const tried = await askOnce(servers, server, call);
  // The line has closed itself by now, so a new one is opened.
  return 'failure' in tried && isSessionGone(tried.failure) ? askOnce(servers, server, call) : tried;
}

async function askOnce(servers: Lines, server: string, call: ResolvedCall): Promise<Tried> {
  let connection: Connection;
  try {
    connection = servers.ready(server, call) ?? (await servers.lineFor(server, call, call.signal));
  } catch (failure) {
    return { failure, mayGoOn: !call.signal.aborted }; // It was not asked yet, so it did not act, whatever went wrong.
  }
  try {
    return { result: await connection.send(call) };
  } catch (thrown) {
    return { failure: honest(call, server, thrown), mayGoOn: mayTryNext(call, thrown) };
  }
}

/** The server has forgotten our session, and said so instead of acting. */
const isSessionGone = (failure: unknown): boolean =>
  failure instanceof UpstreamError && failure.delivered === 'no' && failure.details.sessionGone === true;

const numbered = (result: Result, attempts: number): Result =>
  attempts === 1 || result.kind !== 'complete' ? result : { ...result, from: { ...result.from, attempts } };

/** The preferred one first, then those that are well, else as configured. */
function inOrder({ target, options }: ResolvedCall, servers: Lines): readonly string[] {
  const { preferredServer, failover = true } = options;
  if (target.servers.length === 1) return target.servers;
  const rank = (name: string) => (name === preferredServer ? 0 : servers.health(name) === 'unhealthy' ? 2 : 1);
  const names = [...target.servers].sort((a, b) => rank(a) - rank(b));
  return failover ? names : names.slice(0, 1);
}

function mayTryNext(call: ResolvedCall, thrown: unknown): boolean {
  if (call.signal.aborted || !(thrown instanceof UpstreamError) || thrown.code === 'UPSTREAM_REFUSED') return false;
  return thrown.delivered === 'no' || isRepeatable(call);
}

const isRepeatable = ({ target }: ResolvedCall) => target.facts.readOnly || target.facts.idempotent;

/** A failure after the call was sent is not "failed": nobody knows, and the caller has to. */
function honest(call: ResolvedCall, server: string, thrown: unknown): unknown {
  const unknown = thrown instanceof UpstreamError && thrown.delivered === 'maybe' && thrown.code !== 'UPSTREAM_REFUSED';
  if (!unknown || isRepeatable(call)) return thrown;
  return new HeddleError(
    'OUTCOME_UNKNOWN',
    `${thrown.message} ${call.target.publicName} may have happened or not; it was not repeated.`,
    { cause: thrown, details: { server, because: thrown.code } },
  );
}

const goneElsewhere = ({ target }: ResolvedCall, server: string) =>
  new HeddleError('INPUT_INVALID', `${target.publicName} no longer belongs to ${server}, which asked.`, {
    fix: 'Look whether the call has had effects, then call again.',
  });
