import { someMetrics } from '../../src/catalog/fixtures.ts';
import { type InvokeOptions, invoke } from '../../src/catalog/routing/invoke.ts';
import type { Facts } from '../../src/core/call/facts.ts';
import type { ResolvedCall, Result } from '../../src/core/call.ts';
import { HeddleError, UpstreamError } from '../../src/core/errors.ts';
import { aCall, aStatus, aTarget } from '../../src/core/fixtures.ts';
import type { Connection } from '../../src/upstream/connection.ts';
import { suspendedCalls } from '../../src/upstream/elicitation/suspended-calls.ts';
import { fakeTime } from '../../src/upstream/fixtures.ts';
import { resumeSuspended } from '../../src/upstream/protocol/resume-suspended.ts';

export type Behaviour = (call: ResolvedCall) => Promise<Result>;

export const answers =
  (server: string, isError = false): Behaviour =>
  async () => ({ kind: 'complete', value: {}, isError, provenance: { server, attempts: 1, latencyMs: 5 } });
export const fails =
  (delivered: 'no' | 'maybe' = 'no', details = {}, code: UpstreamError['code'] = 'UPSTREAM_FAILED'): Behaviour =>
  async () => {
    throw new UpstreamError(code as 'UPSTREAM_FAILED', 'It broke.', { delivered, details });
  };
/** Waits until the call is cancelled. */
export const hangs: Behaviour = ({ signal }) =>
  new Promise((_, reject) =>
    signal.addEventListener('abort', () => reject(new HeddleError('CALL_CANCELLED', 'It was cancelled.'))),
  );

/** Creates a pool of healthy servers with scripted behaviours, in the given order. */
export function openPool(behaviours: Record<string, Behaviour>, more: Partial<InvokeOptions> = {}) {
  const calledServers: string[] = [];
  const calls: ResolvedCall[] = [];
  const time = fakeTime();
  const metrics = someMetrics();
  const connections = { opened: 1 };
  const connection = (name: string): Connection => {
    const send = (call: ResolvedCall) => {
      calledServers.push(name);
      calls.push(call);
      return (behaviours[name] as Behaviour)(call);
    };
    return { send } as Partial<Connection> as Connection;
  };
  const servers = {
    ready: connection,
    connectionFor: async (name: string) => connection(name),
    resume: (call: ResolvedCall) => resumeSuspended(suspendedCalls(), call),
    connectionsTo: () => connections.opened,
    statusOf: (name: string) => aStatus({ name, state: 'connected', health: 'ok' }),
  };
  // Keeps the given order, whatever the metrics are.
  const priorityOf = (name: string) => -Object.keys(behaviours).indexOf(name);
  const send = invoke({
    servers,
    metrics,
    priorityOf,
    ...time,
    wallClock: time.clock,
    ...more,
  });
  const names = Object.keys(behaviours) as [string, ...string[]];
  const call = (facts: Partial<Facts> = {}, overrides: Partial<ResolvedCall> = {}) =>
    aCall({ target: aTarget({ publicName: 'mcp__p__t', servers: names, name: 't', facts }), ...overrides });
  const outcome = (one = call()) =>
    send(one).then(
      (result) => (result.kind === 'complete' ? result.provenance.server : result.kind),
      (thrown) => HeddleError.from(thrown).code,
    );
  return { behaviours, calledServers, calls, connections, time, metrics, send, call, outcome };
}

export const times = async (count: number, act: () => Promise<unknown>) => {
  for (let time = 0; time < count; time++) await act();
};
