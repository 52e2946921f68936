import { nameAt } from '../../core/call/equivalent.ts';
import type { ResolvedCall } from '../../core/call.ts';
import type { ServerStatus } from '../../core/records/server-status.ts';
import type { Clock } from '../../core/time.ts';
import type { Tally } from './tally.ts';

export interface ChooseOptions {
  readonly statusOf: (server: string) => ServerStatus | undefined;
  /** How a server has done with a tool of that name. */
  readonly metricsOf: (server: string, tool: string) => Pick<Tally, 'recentRate' | 'avgLatencyMs'>;
  /** What its entry says; higher is asked first. */
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

// A little more than the five points that do not matter: 1 - 0.95 is.
const ALIKE = 0.05 + 1e-9;

/**
 * The servers to ask, one after the other. Those that are ready come before those
 * that have to be started, and both before those in trouble; among them the
 * configured priority decides, then who answers more often, then who is faster.
 */
export function inOrder(call: ResolvedCall, options: ChooseOptions): readonly string[] {
  const { target, options: wishes } = call;
  if (target.servers.length === 1) return target.servers;
  const ranked = rank(candidates(call, options));
  const preferred = ranked.find((server) => server === wishes.preferredServer);
  const names = preferred === undefined ? ranked : [preferred, ...ranked.filter((server) => server !== preferred)];
  // Where none is of use, the first says why.
  if (names.length === 0) return target.servers.slice(0, 1);
  return wishes.failover === false ? names.slice(0, 1) : names;
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

/** Undefined for what is not asked at all. */
function tierOf(status: ServerStatus | undefined, now: number): number | undefined {
  if (status?.state === 'connected') return status.health === 'unhealthy' ? 2 : 0;
  if (status?.state === 'pending') return 1;
  const isDue = status?.state === 'failed' && status.retryFrom !== undefined && status.retryFrom <= now;
  return isDue ? 3 : undefined;
}

function rank(all: readonly Candidate[]): readonly string[] {
  const byRate = [...all].sort((a, b) => a.tier - b.tier || b.priority - a.priority || b.rate - a.rate);
  // "Differs by more than" is no order: each is compared with the best it is not far from.
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
