import type { DatabaseSync } from 'node:sqlite';
import type { Clock } from '../../core/time.ts';
import type { SqlRow, SqlStatement, Statements } from '../statements.ts';

/** The level of `PRAGMA synchronous`: FULL waits for the disk with each commit. */
export type SyncLevel = 'NORMAL' | 'FULL';

/** Runs the statements that all databases share. Every process on a SQLite file has the clock of the same machine. */
export function sqliteStatements(db: DatabaseSync, clock: Clock, level: SyncLevel = 'NORMAL'): Statements {
  const run = ({ sql, values }: SqlStatement) => db.prepare(sql).all(...values) as unknown as readonly SqlRow[];
  return {
    schema: 'main',
    now: () => String(clock()),
    lock: () => '',
    dataVersion: () => Number(run({ sql: 'PRAGMA data_version', values: [] })[0]?.data_version),
    read: async (statement) => run(statement),
    async write(statements, { durable = false } = {}) {
      // No await until the end: the write queue uses the same connection.
      if (durable) db.exec('PRAGMA synchronous = FULL');
      try {
        db.exec('BEGIN IMMEDIATE');
        const rows = statements.map(run);
        db.exec('COMMIT');
        return rows;
      } catch (cause) {
        if (db.isTransaction) db.exec('ROLLBACK');
        throw cause;
      } finally {
        if (durable) db.exec(`PRAGMA synchronous = ${level}`);
      }
    },
  };
}
