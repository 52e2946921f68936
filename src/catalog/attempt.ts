import type { ResolvedCall, Result } from '../core/call.ts';
import type { Clock } from '../core/clock.ts';
import { callAt, nameAt } from '../core/equivalent.ts';
import { HeddleError, UpstreamError } from '../core/errors.ts';
import { resumeParked } from '../upstream/call-legacy.ts';
import type { Connection } from '../upstream/connection.ts';
import type { Parking } from '../upstream/parking.ts';
import type { Servers } from '../upstream/servers.ts';
import { breakers, type Ended, type Pass } from './breaker.ts';
import type { LiveMetrics } from './metrics.ts';
import type { RetryBudget } from './retry-budget.ts';

export interface AttemptOptions {
  readonly servers: Pick<Servers, 'ready' | 'lineFor'>;
  readonly parking: Parking;
  readonly metrics: LiveMetrics;
  readonly budget: RetryBudget;
  readonly clock: Clock;
}

export type Tried = { readonly result: Result } | { readonly failure: unknown; readonly mayGoOn: boolean };

/** One server at a time: whether it may be asked now, asking it, and what the end says of it. */
export interface Attempts {
  /** A pass, or why this server is left alone for now. Whoever has a pass uses it or gives it back. */
  enter(server: string, call: ResolvedCall): Pass | HeddleError;
  leave(server: string, call: ResolvedCall, pass: Pass): void;
  send(server: string, call: ResolvedCall, pass: Pass): Promise<Tried>;
  /** Goes on with a call that waits in an open request. */
  resume(server: string, call: ResolvedCall): Promise<Tried>;
}

export function attempts({ servers, parking, metrics, budget, clock }: AttemptOptions): Attempts {
  const closed = breakers(clock);
  // Servers that said when to come back.
  const resting = new Map<string, number>();

  function restMs(server: string): number {
    const until = resting.size === 0 ? undefined : resting.get(server);
    if (until === undefined) return 0;
    const left = until - clock();
    if (left <= 0) resting.delete(server);
    return left;
  }

  function learn(server: string, { signal, target }: ResolvedCall, thrown: unknown): Ended {
    // Whoever gave up, or sent what cannot be sent, says nothing of the server.
    if (signal.aborted || !(thrown instanceof UpstreamError)) return 'left';
    const { retryAfterMs } = thrown.details;
    if (typeof retryAfterMs === 'number') resting.set(server, clock() + retryAfterMs);
    metrics.of(server, target.name).failed(clock());
    if (typeof retryAfterMs === 'number') return 'left';
    return thrown.code === 'UPSTREAM_REFUSED' ? 'answered' : 'failed';
  }

  function succeed(server: string, { target }: ResolvedCall, result: Result): Tried {
    if (result.kind === 'complete') {
      metrics.of(server, target.name).answered(result.from.latencyMs, result.isError, clock());
    }
    return { result };
  }

  async function sendOn(connection: Connection, server: string, call: ResolvedCall, pass: Pass): Promise<Tried> {
    const { name } = call.target;
    try {
      const result = await connection.send(call);
      closed.ended(server, name, pass, 'answered');
      return succeed(server, call, result);
    } catch (thrown) {
      if (isSessionGone(thrown) && !call.signal.aborted) return { failure: thrown, mayGoOn: true };
      closed.ended(server, name, pass, learn(server, call, thrown));
      return failed(server, call, thrown);
    }
  }
  ...
