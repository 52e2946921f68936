import { HeddleError } from '../core/errors.ts';
import type { CallStats } from '../core/records/call-stats.ts';
import type { MetricsRow } from '../core/records/metrics.ts';
import type { Heddle } from '../heddle.ts';
import { checkOptions, type OptionKeys } from './check-options.ts';
import { PROGRAM } from './program.ts';

export interface StatsOptions {
  /** The start of the period, in milliseconds since the epoch. Default: 7 days ago. */
  readonly since?: number;
  /** Counts per tool (default), per server or per agent. Calls without an agent are in no row of `agent`. */
  readonly per?: 'tool' | 'server' | 'agent';
}

/** Statistics of calls. */
export interface StatsApi {
  /** Returns statistics of the calls of all processes with this store, the most called first. */
  stats(options?: StatsOptions): Promise<readonly CallStats[]>;
  /** Returns the counts and latencies of each server and each of its tools, those of earlier runs included. */
  metrics(): Promise<readonly MetricsRow[]>;
}

const STATS_KEYS: OptionKeys<StatsOptions> = { since: true, per: true };
const PER: readonly unknown[] = ['tool', 'server', 'agent'];
const WEEK_MS = 604_800_000;

/** Returns statistics for the embedding program. */
export function statsApi({ traces, metrics }: Pick<Heddle, 'traces' | 'metrics'>): StatsApi {
  return {
    async stats(options) {
      const { since = Date.now() - WEEK_MS, per = 'tool' } = checkOptions('stats', options, STATS_KEYS);
      if (!PER.includes(per) || !Number.isFinite(since)) throw badStats();
      return traces.stats(PROGRAM, since, per);
    },
    metrics: () => metrics(PROGRAM),
  };
}

const badStats = () =>
  new HeddleError('USAGE_INVALID', '`stats` counts since a number of milliseconds, per tool, server or agent.', {
    fix: 'Pass `{ since: Date.now() - 86_400_000, per: "agent" }`, or nothing.',
  });
