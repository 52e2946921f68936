import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { BoundedMap } from '../../core/bounded-map.ts';
import type { Clock } from '../../core/time.ts';
import type { SqlRow, SqlStatement, Statements } from '../statements.ts';

/** The level of `PRAGMA synchronous`: FULL waits for the disk with each commit. */
export type SyncLevel = 'NORMAL' | 'FULL';

// Preparing takes longer than most statements. A text that has a time in it is used once.
const MAX_PREPARED = 100;

/** Runs the statements that all databases share. Every process on a SQLite file has the clock of the same machine. */
export function sqliteStatements(db: DatabaseSync, clock: Clock, level: SyncLevel = 'NORMAL'): Statements {
  const prepared = new BoundedMap<string, StatementSync>(MAX_PREPARED);
  const prepare = (sql: string) => {
    const known = prepared.get(sql);
    if (known) return known;
    const statement = db.prepare(sql);
    prepared.set(sql, statement);
    return statement;
  };
  const run = ({ sql, values }: SqlStatement) => prepare(sql).all(...values) as unknown as readonly SqlRow[];
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
        prepare('BEGIN IMMEDIATE').run();
        const rows = statements.map(run);
        prepare('COMMIT').run();
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
