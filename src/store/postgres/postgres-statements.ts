import type { Pool } from 'pg';
import type { SqlRow, SqlStatement, Statements } from '../statements.ts';
import { inTransaction } from './in-transaction.ts';
import { SCHEMA } from './load-queries.ts';

/** Runs the statements that all databases share. The clock of the database is the same for every replica. */
export function postgresStatements(pool: Pool): Statements {
  return {
    schema: SCHEMA,
    now: () => '(extract(epoch from clock_timestamp()) * 1000)::double precision',
    lock: (mode) => `FOR ${mode}`,
    async read(statement) {
      return (await pool.query<SqlRow>(numbered(statement))).rows;
    },
    async write(statements) {
      const rows: SqlRow[][] = [];
      await inTransaction(pool, async (client) => {
        for (const statement of statements) rows.push((await client.query<SqlRow>(numbered(statement))).rows);
      });
      return rows;
    },
  };
}

/** Postgres numbers its placeholders. No statement has a question mark in a text. */
export function numbered({ sql, values }: SqlStatement): { text: string; values: (string | number | null)[] } {
  let count = 0;
  return { text: sql.replaceAll('?', () => `$${++count}`), values: [...values] };
}
