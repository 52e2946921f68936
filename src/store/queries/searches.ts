import type { Kysely } from 'kysely';
import type { AuditQuery, AuditRecord } from '../audit-log.ts';
import { fromAuditRow, fromSpanRow } from '../rows.ts';
import type { Tables } from '../tables.ts';
import type { Span } from '../trace-log.ts';

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

/** Reads all spans of one trace, ordered by start. */
export async function readTrace(db: Kysely<Tables>, traceId: string): Promise<readonly Span[]> {
  const rows = await db
    .selectFrom('spans')
    .select([
      'trace_id',
      'span_id',
      'parent_id',
      'name',
      'server',
      'started_at',
      'duration_ms',
      'outcome',
      'attributes',
    ])
    .where('trace_id', '=', traceId)
    .orderBy('started_at')
    .orderBy('id')
    .execute();
  return rows.map(fromSpanRow);
}
