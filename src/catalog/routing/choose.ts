import { nameAt } from '../../core/call/equivalent.ts';
import type { ResolvedCall } from '../../core/call.ts';
import type { ServerStatus } from '../../core/records/server-status.ts';
import type { Clock } from '../../core/time.ts';
import type { Tally } from './tally.ts';

export interface ChooseOptions {
  readonly statusOf: (server: string) => ServerStatus | undefined;
  /** Returns the metrics of a tool at a server. */
  readonly metricsOf: (server: string, tool: string) => Pick<Tally, 'recentRate' | 'avgLatencyMs'>;
  /** Returns the configured priority; higher is called first. */
  readonly priorityOf: (server: string) => number;
  readonly clock: Clock;
  /** The clock of the metrics. */
  readonly wallClock: Clock;
}

interface Candidate {
  readonly server: string;
  readonly tier: number;
  readonly priority: number;
  readonly rate: number;
  readonly latencyMs: number;
}

// Slightly more than 0.05, since 1 - 0.95 is more than 0.05 in floating point.
const ALIKE = 0.05 + 1e-9;

/**
 * Returns the servers of a pool in the order in which they are called. Connected servers come before unstarted ones,
 * and both before unhealthy ones. Then the priority decides, then the success rate, then the latency.
 */
export function inOrder(call: ResolvedCall, options: ChooseOptions): readonly string[] {
  const { target, options: routing } = call;
  if (target.servers.length === 1) return target.servers;
  const ranked = rank(candidates(call, options));
  const preferred = ranked.find((server) => server === routing.preferredServer);
  const names = preferred === undefined ? ranked : [preferred, ...ranked.filter((server) => server !== preferred)];
  // If none is usable, the first one gives the error.
  if (names.length === 0) return target.servers.slice(0, 1);
  return routing.failover === false ? names.slice(0, 1) : names;
}

function candidates({ target }: ResolvedCall, options: ChooseOptions): readonly Candidate[] {
  const [now, wallNow] = [options.clock(), options.wallClock()];
  return target.servers.flatMap((server) => {
    const tier = tierOf(options.statusOf(server), now);
    if (tier === undefined) return [];
    const metrics = options.metricsOf(server, nameAt(target, server));
    const [rate, latencyMs] = [metrics.recentRate(wallNow), metrics.avgLatencyMs];
    return [{ server, tier, priority: options.priorityOf(server), rate, latencyMs }];
  });
}

/** Returns the tier of a server; undefined if it must not be called. */
function tierOf(status: ServerStatus | undefined, now: number): number | undefined {
  if (status?.state === 'connected') return status.health === 'unhealthy' ? 2 : 0;
  if (status?.state === 'pending') return 1;
  const isDue = status?.state === 'failed' && status.retryFrom !== undefined && status.retryFrom <= now;
  return isDue ? 3 : undefined;
}

function rank(all: readonly Candidate[]): readonly string[] {
  const byRate = [...all].sort((a, b) => a.tier - b.tier || b.priority - a.priority || b.rate - a.rate);
  // "Differs by more than 0.05" is not transitive, so each rate is compared with the best of its band.
  const bands: Candidate[][] = [];
  for (const candidate of byRate) {
    const band = bands.at(-1);
    if (band?.[0] && isAlike(band[0], candidate)) band.push(candidate);
    else bands.push([candidate]);
  }
  const inBands = bands.flatMap((band) => band.sort((a, b) => a.latencyMs - b.latencyMs));
  return inBands.map(({ server }) => server);
}

const isAlike = (best: Candidate, other: Candidate) =>
  best.tier === other.tier && best.priority === other.priority && best.rate - other.rate <= ALIKE;
