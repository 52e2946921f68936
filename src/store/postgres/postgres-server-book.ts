import type { Pool } from 'pg';
import { fromServerRows, toServerRow } from '../rows.ts';
import type { ServerBook } from '../server-book.ts';
import type { ServerRow } from '../tables.ts';
import { SCHEMA } from './load-queries.ts';

const COLUMNS = 'server, signature, era, at, tools, resources, templates, prompts';

/** What was learnt of each server, shared by every Heddle on this database. */
export function postgresServerBook(pool: Pool): ServerBook {
  return {
    async all() {
      const { rows } = await pool.query<ServerRow>(`SELECT ${COLUMNS} FROM ${SCHEMA}.servers ORDER BY server`);
      return fromServerRows(rows);
    },
    async remember(memory) {
      const { server, signature, era, at, tools, resources, templates, prompts } = toServerRow(memory);
      await pool.query(
        `INSERT INTO ${SCHEMA}.servers (${COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
         ON CONFLICT (server) DO UPDATE
         SET signature = $2, era = $3, at = $4, tools = $5, resources = $6, templates = $7, prompts = $8`,
        [server, signature, era, at, tools, resources, templates, prompts],
      );
    },
  };
}
