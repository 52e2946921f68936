import type { Handler, ResolvedCall } from '../core/call.ts';
import { HeddleError, UpstreamError } from '../core/errors.ts';
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
      const server = names[attempt - 1] as string;
      try {
        const connection = servers.connected(server) ?? (await servers.connect(server, call.signal));
        const result = await connection.send(call);
        if (attempt === 1 || result.kind !== 'complete') return result;
        return { ...result, from: { ...result.from, attempts: attempt } };
      } catch (thrown) {
        if (attempt === names.length || !mayTryNext(call, thrown)) throw honest(call, server, thrown);
      }
    }
  };
}

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
