import type { CallStats } from '../../core/records/call-stats.ts';
import type { Metrics } from '../../core/records/metrics.ts';
import { CONFIG_OPTION, type Command, type Input, JSON_OPTION, TRUST_OPTION } from '../command.ts';
import { readDuration } from '../input/read-duration.ts';
import { localCaller } from '../local-caller.ts';
import { type Column, printColumns } from '../print/print-columns.ts';
import { printJson } from '../print/print-json.ts';
import { notice } from '../print/print-line.ts';
import { findRunning, openOptions, withHeddle } from '../with-heddle.ts';

const DEFAULT_SINCE = '7d';

/** Statistics of the store, with the live metrics of a running gateway. */
interface ServerStats extends CallStats {
  readonly live?: Metrics;
}

export const stats: Command = {
  summary: 'Show how calls have ended, per tool and per server. OK is the share that ended without an error code.',
  usage: 'heddle stats [--since 7d]',
  examples: ['heddle stats', 'heddle stats --since 24h --json'],
  options: {
    since: {
      type: 'string',
      value: 'TIME',
      help: `How far to look back: 30m, 24h, 7d, 2w (default: ${DEFAULT_SINCE})`,
    },
    config: CONFIG_OPTION,
    'trust-project': TRUST_OPTION,
    json: JSON_OPTION,
  },
  async run(input) {
    const since = input.text('since') ?? DEFAULT_SINCE;
    const from = Date.now() - readDuration('since', since);
    const by = localCaller();
    const [tools, stored] = await withHeddle(openOptions(input), (heddle) =>
      Promise.all([heddle.traces.stats(by, from), heddle.traces.stats(by, from, 'server')]),
    );
    const servers = await withLive(input, stored);
    if (input.flag('json')) printJson({ since: from, tools, servers });
    else if (tools.length === 0) notice(`There were no calls in the last ${since}.`);
    else {
      printColumns([{ title: 'TOOL', of: ({ name }) => name }, ...COLUMNS, ERRORS], tools);
      process.stdout.write('\n');
      printColumns([{ title: 'SERVER', of: ({ name }) => name }, ...COLUMNS, NOW, ERRORS], servers);
    }
    return 0;
  },
};

async function withLive(input: Input, stored: readonly CallStats[]): Promise<readonly ServerStats[]> {
  const running = await findRunning(input, openOptions(input));
  const live = (await running?.heddle.servers.list(localCaller())) ?? [];
  running?.close();
  const metrics = new Map(live.map((one) => [one.name, one.metrics]));
  return stored.map((one) => {
    const now = metrics.get(one.name);
    return now ? { ...one, live: now } : one;
  });
}

const COLUMNS: readonly Column<CallStats>[] = [
  { title: 'CALLS', of: ({ totalCalls }) => String(totalCalls), right: true },
  { title: 'OK', of: ({ successRate }) => percent(successRate), right: true },
  { title: 'AVERAGE', of: ({ avgLatencyMs }) => formatMs(avgLatencyMs), right: true },
  { title: 'P50', of: ({ p50Ms }) => formatMs(p50Ms), right: true },
  { title: 'P95', of: ({ p95Ms }) => formatMs(p95Ms), right: true },
  { title: 'P99', of: ({ p99Ms }) => formatMs(p99Ms), right: true },
];

const ERRORS: Column<CallStats> = {
  title: 'ERRORS',
  of: ({ topErrors }) => topErrors.map(({ code, count }) => `${count} ${code}`).join(', '),
  optional: true,
};

/** Metrics of the gateway over all tools of a server. Pools choose by the metrics of a single tool. */
const NOW: Column<ServerStats> = {
  title: 'NOW',
  of: ({ live }) =>
    live && live.totalCalls > 0 ? `${percent(live.successRate)} ok, ${formatMs(live.avgLatencyMs)}` : '',
  optional: true,
};

/** Formats a share. Only an exact 1 is shown as 100 %. */
const percent = (share: number) => (share === 1 ? '100 %' : `${Math.min(99.9, Math.round(share * 1000) / 10)} %`);

function formatMs(ms: number): string {
  if (ms >= 10_000) return `${(ms / 1000).toFixed(0)} s`;
  if (ms >= 1000) return `${(ms / 1000).toFixed(1)} s`;
  return ms >= 10 ? `${ms.toFixed(0)} ms` : `${ms.toFixed(1)} ms`;
}
