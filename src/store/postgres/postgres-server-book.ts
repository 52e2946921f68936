import type { Pool } from 'pg';
import { fromServerRows, toServerRow } from '../rows.ts';
import type { ServerBook } from '../server-book.ts';
import type { ServerRow } from '../tables.ts';
import { SCHEMA } from './load-queries.ts';

const COLUMNS = 'server, abilities, signature, era, at, tools, resources, templates, prompts';

/** The server lists, shared by every Heddle on this database. */
export function postgresServerBook(pool: Pool): ServerBook {
  return {
    async all() {
      const { rows } = await pool.query<ServerRow>(
        `SELECT ${COLUMNS} FROM ${SCHEMA}.servers ORDER BY server, abilities`,
      );
      return fromServerRows(rows);
    },
    async remember(memory) {
      const { server, abilities, signature, era, at, tools, resources, templates, prompts } = toServerRow(memory);
      await pool.query(
        `INSERT INTO ${SCHEMA}.servers (${COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
         ON CONFLICT (server, abilities) DO UPDATE
         SET signature = $3, era = $4, at = $5, tools = $6, resources = $7, templates = $8, prompts = $9`,
        [server, abilities, signature, era, at, tools, resources, templates, prompts],
      );
    },
  };
}
