import type { Kysely } from 'kysely';
import type { AuditQuery, AuditRecord } from './audit-log.ts';
import type { ReadChain } from './hash-chain.ts';
import { fromAuditRow, fromSpanRow } from './rows.ts';
import type { Tables } from './tables.ts';
import type { Span, SpanStats } from './trace-log.ts';

const CHAIN_BATCH = 1_000;

/** Finds audit records, newest first. */
export async function searchAudit(db: Kysely<Tables>, query: AuditQuery): Promise<readonly AuditRecord[]> {
  const { since, caller, callId, limit } = query;
  const rows = await db
    .selectFrom('audit')
    .select(['call_id', 'phase', 'at', 'caller', 'via', 'name', 'detail'])
    .$if(since !== undefined, (found) => found.where('at', '>=', since ?? 0))
    .$if(caller !== undefined, (found) => found.where('caller', '=', caller ?? ''))
    .$if(callId !== undefined, (found) => found.where('call_id', '=', callId ?? ''))
    .orderBy('id', 'desc')
    .limit(limit)
    .execute();
  return rows.map(fromAuditRow);
}

/** Reads all chains piece by piece, in the order they were written, so that no length of log has to fit in memory. */
export function chainReader(db: Kysely<Tables>): ReadChain {
  return async (after) => {
    const rows = await db
      .selectFrom('audit')
      .select(['id', 'segment', 'sequence', 'hash', 'call_id', 'phase', 'at', 'caller', 'via', 'name', 'detail'])
      .where('id', '>', after)
      .orderBy('id')
      .limit(CHAIN_BATCH)
      .execute();
    return rows.map((row) => ({ ...row, id: Number(row.id) })); // Postgres hands 64 bits over as text.
  };
}

/** All spans of one trace, in the order they began. */
export async function readTrace(db: Kysely<Tables>, traceId: string): Promise<readonly Span[]> {
  const rows = await db
    .selectFrom('spans')
    .select(['trace_id', 'span_id', 'parent_id', 'name', 'started_at', 'duration_ms', 'outcome', 'attributes'])
    .where('trace_id', '=', traceId)
    .orderBy('started_at')
    .orderBy('id')
    .execute();
  return rows.map(fromSpanRow);
}

/** How each name did since then, the most called first. */
export async function readStats(db: Kysely<Tables>, since: number): Promise<readonly SpanStats[]> {
  const rows = await db
    .selectFrom('spans')
    .select(({ fn }) => [
      'name',
      fn.countAll().as('calls'),
      fn.countAll().filterWhere('outcome', 'not in', ['ok', 'input-required']).as('errors'),
      fn.avg('duration_ms').as('average'),
      fn.max('started_at').as('last'),
    ])
    .where('started_at', '>=', since)
    .groupBy('name')
    .orderBy('calls', 'desc')
    .orderBy('name')
    .execute();
  // Postgres counts in 64 bits, which its driver hands over as text.
  return rows.map((row) => ({
    name: row.name,
    totalCalls: Number(row.calls),
    errorCount: Number(row.errors),
    avgLatencyMs: Number(row.average),
    lastCallTime: row.last,
  }));
}
