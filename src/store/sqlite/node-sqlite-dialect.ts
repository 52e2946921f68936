import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { type Dialect, SqliteDialect } from 'kysely';

/**
 * Runs kysely queries on a node:sqlite database. Single statements only: a transaction that spans an await would
 * include the rows that the write queue commits meanwhile on the same connection.
 */
export function nodeSqliteDialect(db: DatabaseSync): Dialect {
  return new SqliteDialect({
    database: {
      prepare(text) {
        const statement = db.prepare(text);
        return {
          reader: statement.columns().length > 0,
          all: (parameters) => statement.all(...(parameters as SQLInputValue[])),
          run: (parameters) => statement.run(...(parameters as SQLInputValue[])),
          iterate: (parameters) => statement.iterate(...(parameters as SQLInputValue[])),
        };
      },
      close() {
        // The opener of the database closes it.
      },
    },
  });
}
