import type { Kysely } from 'kysely';
import { type CallStats, failedCalls } from '../../core/records/call-stats.ts';
import type { Tables } from '../tables.ts';
import type { StatsColumn } from '../trace-log.ts';

const FINE = 'ok';
const TOOL_ERROR = 'tool-error';
const MISMATCH = 'output-mismatch';
// Unknown names are left out: callers can invent any number of them.
const UNKNOWN = 'NAME_UNKNOWN';
// Unfinished results of a call; the call is counted when it ends.
const UNCOUNTED = [UNKNOWN, 'input-required', 'waiting', 'working'];
const TOP_ERRORS = 5;

/** Reads the statistics of each name, server or agent since then, the most called first. */
export async function readStats(db: Kysely<Tables>, since: number, per: StatsColumn): Promise<readonly CallStats[]> {
  const [rows, errors] = await Promise.all([readCounts(db, since, per), readErrors(db, since, per)]);
  const byName = Map.groupBy(errors, ({ label }) => label);
  // Postgres counts in 64 bits, which its driver returns as text.
  return rows.map((row) => {
    const totalCalls = Number(row.calls);
    const errorCount = Number(row.errors);
    const toolErrors = Number(row.toolErrors);
    return {
      name: row.label as string,
      totalCalls,
      successRate: 1 - failedCalls({ errorCount, toolErrors }) / totalCalls,
      errorCount,
      toolErrors,
      outputMismatches: Number(row.outputMismatches),
      avgLatencyMs: Number(row.average),
      p50Ms: row.p50,
      p95Ms: row.p95,
      p99Ms: row.p99,
      lastCallTime: row.last,
      topErrors: (byName.get(row.label) ?? [])
        .slice(0, TOP_ERRORS)
        .map(({ outcome, count }) => ({ code: outcome, count: Number(count) })),
    };
  });
}

/** Reads counts and percentiles. A percentile is always a duration that was measured. */
function readCounts(db: Kysely<Tables>, since: number, per: StatsColumn) {
  return db
    .selectFrom((from) =>
      from
        .selectFrom('spans')
        .select(({ fn, ref }) => [
          ref(per).as('label'),
          'duration_ms',
          'started_at',
          'outcome',
          fn
            .agg<number>('row_number')
            .over((over) => over.partitionBy(per).orderBy('duration_ms'))
            .as('place'),
          fn
            .countAll<number>()
            .over((over) => over.partitionBy(per))
            .as('size'),
        ])
        .where('started_at', '>=', since)
        .where('outcome', 'not in', UNCOUNTED)
        .where(per, 'is not', null)
        .as('placed'),
    )
    .select((eb) => {
      const { fn } = eb;
      const quickest = (percent: number) =>
        fn.min('duration_ms').filterWhere(eb('place', '*', 100), '>=', eb('size', '*', percent));
      return [
        'label',
        fn.countAll().as('calls'),
        fn.countAll().filterWhere('outcome', 'not in', [FINE, TOOL_ERROR, MISMATCH]).as('errors'),
        fn.countAll().filterWhere('outcome', '=', TOOL_ERROR).as('toolErrors'),
        fn.countAll().filterWhere('outcome', '=', MISMATCH).as('outputMismatches'),
        fn.avg('duration_ms').as('average'),
        quickest(50).as('p50'),
        quickest(95).as('p95'),
        quickest(99).as('p99'),
        fn.max('started_at').as('last'),
      ];
    })
    .groupBy('label')
    .orderBy('calls', 'desc')
    .orderBy('label')
    .execute();
}

function readErrors(db: Kysely<Tables>, since: number, per: StatsColumn) {
  return db
    .selectFrom('spans')
    .select(({ fn, ref }) => [ref(per).as('label'), 'outcome', fn.countAll().as('count')])
    .where('started_at', '>=', since)
    .where('outcome', 'not in', [FINE, ...UNCOUNTED])
    .groupBy([per, 'outcome'])
    .orderBy('count', 'desc')
    .orderBy('outcome')
    .execute();
}
