import { HeddleError } from '../../core/errors.ts';
import type { BudgetStatus } from '../../core/records/budget.ts';
import { type CallStats, failedCalls } from '../../core/records/call-stats.ts';
import type { Metrics } from '../../core/records/metrics.ts';
import { CONFIG_OPTION, type Command, type Input, JSON_OPTION, TRUST_OPTION } from '../command.ts';
import { readDuration } from '../input/read-duration.ts';
import { localCaller } from '../local-caller.ts';
import { type PrintedColumn, printColumns } from '../print/print-columns.ts';
import { printJson } from '../print/print-json.ts';
import { notice } from '../print/print-line.ts';
import { findRunning, openOptions, withHeddle } from '../with-heddle.ts';

const DEFAULT_SINCE = '7d';

/** Statistics of the store, with the live metrics of a running gateway. */
interface ServerStats extends CallStats {
  readonly live?: Metrics;
}

export const stats: Command = {
  summary: 'Show how calls have ended, per tool and per server. OK is the share without an error code or tool-error.',
  usage: 'heddle stats [--since 7d | --budgets]',
  examples: ['heddle stats', 'heddle stats --since 24h --json', 'heddle stats --budgets'],
  options: {
    since: {
      type: 'string',
      value: 'TIME',
      help: `How far to look back: 30m, 24h, 7d, 2w (default: ${DEFAULT_SINCE})`,
    },
    budgets: { type: 'boolean', help: 'Show what callers have spent of their budgets, and what is left' },
    config: CONFIG_OPTION,
    'trust-project': TRUST_OPTION,
    json: JSON_OPTION,
  },
  async run(input) {
    if (input.flag('budgets')) return showBudgets(input);
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

async function showBudgets(input: Input): Promise<number> {
  if (input.text('since') !== undefined) {
    throw new HeddleError('USAGE_INVALID', '--since and --budgets exclude each other: a budget has its own windows.', {
      fix: 'Leave out one of them.',
    });
  }
  const budgets = await withHeddle(openOptions(input), (heddle) => heddle.budgets(localCaller()));
  if (input.flag('json')) printJson({ budgets });
  else if (budgets.length === 0) notice('No caller has a budget, or none has spent any yet; set them in `budgets`.');
  else printColumns(BUDGET_COLUMNS, budgets);
  return 0;
}

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

const COLUMNS: readonly PrintedColumn<CallStats>[] = [
  { title: 'CALLS', of: ({ totalCalls }) => String(totalCalls), right: true },
  { title: 'OK', of: ({ successRate }) => percent(successRate), right: true },
  { title: 'AVERAGE', of: ({ avgLatencyMs }) => formatMs(avgLatencyMs), right: true },
  { title: 'P50', of: ({ p50Ms }) => formatMs(p50Ms), right: true },
  { title: 'P95', of: ({ p95Ms }) => formatMs(p95Ms), right: true },
  { title: 'P99', of: ({ p99Ms }) => formatMs(p99Ms), right: true },
];

const ERRORS: PrintedColumn<CallStats> = {
  title: 'ERRORS',
  of: ({ topErrors }) => topErrors.map(({ code, count }) => `${count} ${code}`).join(', '),
  optional: true,
};

/** Metrics of the gateway over all tools of a server. Pools choose by the metrics of a single tool. */
const NOW: PrintedColumn<ServerStats> = {
  title: 'NOW',
  of: ({ live }) =>
    live && live.totalCalls > 0
      ? `${percent(1 - failedCalls(live) / live.totalCalls)} ok, ${formatMs(live.avgLatencyMs)}`
      : '',
  optional: true,
};

const BUDGET_COLUMNS: readonly PrintedColumn<BudgetStatus>[] = [
  { title: 'CALLER', of: ({ caller }) => caller },
  { title: 'PER', of: ({ period }) => period },
  { title: 'SPENT', of: ({ spent }) => units(spent), right: true },
  { title: 'LEFT', of: ({ left }) => units(left), right: true },
  { title: 'BUDGET', of: ({ limit }) => units(limit), right: true },
  { title: 'RESETS', of: ({ resetsAt }) => new Date(resetsAt).toISOString().replace(':00.000Z', 'Z') },
];

/** Formats an amount without the noise of sums of decimal fractions. */
const units = (amount: number) => String(Number(amount.toPrecision(12)));

/** Formats a share. Only an exact 1 is shown as 100 %. */
const percent = (share: number) => (share === 1 ? '100 %' : `${Math.min(99.9, Math.round(share * 1000) / 10)} %`);

function formatMs(ms: number): string {
  if (ms >= 10_000) return `${(ms / 1000).toFixed(0)} s`;
  if (ms >= 1000) return `${(ms / 1000).toFixed(1)} s`;
  return ms >= 10 ? `${ms.toFixed(0)} ms` : `${ms.toFixed(1)} ms`;
}
