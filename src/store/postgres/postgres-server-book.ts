import type { Pool } from 'pg';
import { fromServerRows, toServerRow } from '../rows.ts';
import type { ServerBook } from '../server-book.ts';
import type { ServerRow } from '../tables.ts';
import { SCHEMA } from './load-queries.ts';

/** What was learnt of each server, shared by every Heddle on this database. */
export function postgresServerBook(pool: Pool): ServerBook {
  return {
    async all() {
      const { rows } = await pool.query<ServerRow>(
        `SELECT server, signature, era, tools, at FROM ${SCHEMA}.servers ORDER BY server`,
      );
      return fromServerRows(rows);
    },
    async remember(memory) {
      const { server, signature, era, tools, at } = toServerRow(memory);
      await pool.query(
        `INSERT INTO ${SCHEMA}.servers (server, signature, era, tools, at) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (server) DO UPDATE SET signature = $2, era = $3, tools = $4, at = $5`,
        [server, signature, era, tools, at],
      );
    },
  };
}
