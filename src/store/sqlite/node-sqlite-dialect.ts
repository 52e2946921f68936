import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { type Dialect, SqliteDialect } from 'kysely';

/**
 * Lets kysely ask questions of a node:sqlite database. Single statements only: a transaction that spans an await
 * would swallow what the write queue commits meanwhile on the same connection.
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
        // Who opened the database closes it.
      },
    },
  });
}
