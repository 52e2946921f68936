import type { Handler, ResolvedCall, Result } from '../core/call.ts';
import { HeddleError, UpstreamError } from '../core/errors.ts';
import type { Connection } from '../upstream/connection.ts';
import type { Servers } from '../upstream/servers.ts';

/**
 * The innermost handler: sends the call to the first server that will take it.
 * Moves on to the next only when the failed one certainly did not act, or when
 * acting twice is harmless. What may have happened is never repeated.
 */
export function invoke(servers: Pick<Servers, 'connect' | 'connected'>): Handler<ResolvedCall> {
  return async function invoke(call) {
    const names = inOrder(call);
    for (let attempt = 1; ; attempt++) {
      const tried = await ask(servers, names[attempt - 1] as string, call);
      if ('result' in tried) return numbered(tried.result, attempt);
      if (attempt === names.length || !tried.mayGoOn) throw tried.failure;
    }
  };
}

type Tried = { readonly result: Result } | { readonly failure: unknown; readonly mayGoOn: boolean };

async function ask(
  servers: Pick<Servers, 'connect' | 'connected'>,
  server: string,
  call: ResolvedCall,
): Promise<Tried> {
  let connection: Connection;
  try {
    connection = servers.connected(server) ?? (await servers.connect(server, call.signal));
  } catch (failure) {
    return { failure, mayGoOn: !call.signal.aborted }; // It was not asked yet, so it did not act, whatever went wrong.
  }
  try {
    return { result: await connection.send(call) };
  } catch (thrown) {
    return { failure: honest(call, server, thrown), mayGoOn: mayTryNext(call, thrown) };
  }
}

const numbered = (result: Result, attempts: number): Result =>
  attempts === 1 || result.kind !== 'complete' ? result : { ...result, from: { ...result.from, attempts } };

function inOrder({ target, options }: ResolvedCall): readonly string[] {
  const { preferredServer, failover = true } = options;
  const names = [...target.servers].sort((a, b) => Number(b === preferredServer) - Number(a === preferredServer));
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
