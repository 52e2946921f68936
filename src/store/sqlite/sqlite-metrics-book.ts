import type { DatabaseSync } from 'node:sqlite';
import { MAX_SIGNATURES, type MetricsBook } from '../metrics-book.ts';
import { fromMetricsRow, toMetricsRow } from '../rows.ts';
import type { MetricsBookRow } from '../tables.ts';

const COLUMNS = 'server, signature, tool, total_calls, tool_errors, error_count, avg_latency_ms, last_call_time';
const ADD = `INSERT INTO metrics (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (server, signature, tool) DO UPDATE SET
    total_calls = total_calls + excluded.total_calls,
    tool_errors = tool_errors + excluded.tool_errors,
    error_count = error_count + excluded.error_count,
    avg_latency_ms = excluded.avg_latency_ms,
    last_call_time = max(last_call_time, excluded.last_call_time)`;
const DROP_OLD = `DELETE FROM metrics WHERE server = ?1 AND signature NOT IN (
  SELECT signature FROM metrics WHERE server = ?1 GROUP BY signature
    ORDER BY max(last_call_time) DESC LIMIT ${MAX_SIGNATURES})`;

/** The call counts. Statements are prepared by hand: every start reads them, and the query builder loads slowly. */
export function sqliteMetricsBook(db: DatabaseSync): MetricsBook {
  return {
    async all() {
      const rows = db.prepare(`SELECT ${COLUMNS} FROM metrics ORDER BY server, signature, tool`).all();
      return (rows as unknown as MetricsBookRow[]).map(fromMetricsRow);
    },
    async add(rows) {
      const given = rows.map(toMetricsRow);
      const insert = db.prepare(ADD);
      const dropOld = db.prepare(DROP_OLD);
      db.exec('BEGIN IMMEDIATE');
      try {
        for (const row of given) {
          const { server, signature, tool, total_calls, tool_errors, error_count, avg_latency_ms, last_call_time } =
            row;
          insert.run(server, signature, tool, total_calls, tool_errors, error_count, avg_latency_ms, last_call_time);
        }
        for (const server of new Set(given.map((row) => row.server))) dropOld.run(server);
        db.exec('COMMIT');
      } catch (cause) {
        db.exec('ROLLBACK');
        throw cause;
      }
    },
  };
}
