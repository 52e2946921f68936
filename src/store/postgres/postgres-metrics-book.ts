import type { Pool } from 'pg';
import { MAX_SIGNATURES, type MetricsBook } from '../metrics-book.ts';
import { fromMetricsRow, toMetricsRow } from '../rows.ts';
import type { MetricsBookRow } from '../tables.ts';
import { SCHEMA } from './load-queries.ts';

const COLUMNS = 'server, signature, tool, total_calls, tool_errors, error_count, avg_latency_ms, last_call_time';
const TABLE = `${SCHEMA}.metrics`;
// Rows are written in one fixed order, so that two writers cannot deadlock.
const ADD = `INSERT INTO ${TABLE} AS known (${COLUMNS})
  SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::double precision[], $5::double precision[],
    $6::double precision[], $7::double precision[], $8::double precision[]) AS given (${COLUMNS})
    ORDER BY server, signature, tool
  ON CONFLICT (server, signature, tool) DO UPDATE SET
    total_calls = known.total_calls + excluded.total_calls,
    tool_errors = known.tool_errors + excluded.tool_errors,
    error_count = known.error_count + excluded.error_count,
    avg_latency_ms = excluded.avg_latency_ms,
    last_call_time = greatest(known.last_call_time, excluded.last_call_time)`;
const DROP_OLD = `DELETE FROM ${TABLE} WHERE (server, signature) IN (
  SELECT server, signature FROM (
    SELECT server, signature, row_number() OVER (PARTITION BY server ORDER BY max(last_call_time) DESC) AS place
      FROM ${TABLE} WHERE server = ANY($1::text[]) GROUP BY server, signature
  ) AS ranked WHERE place > ${MAX_SIGNATURES})`;

/** The call counts of every Heddle on this database. */
export function postgresMetricsBook(pool: Pool): MetricsBook {
  return {
    async all() {
      const { rows } = await pool.query<MetricsBookRow>(
        `SELECT ${COLUMNS} FROM ${TABLE} ORDER BY server, signature, tool`,
      );
      return rows.map(fromMetricsRow);
    },
    async add(rows) {
      const given = rows.map(toMetricsRow);
      const column = (name: keyof MetricsBookRow) => given.map((row) => row[name]);
      const columns = COLUMNS.split(', ').map((name) => column(name as keyof MetricsBookRow));
      await pool.query(ADD, columns);
      // The counts are written: an error here would have them added again. The next write drops the same rows.
      await pool.query(DROP_OLD, [[...new Set(column('server'))]]).catch(() => {});
    },
  };
}
