import type { Pool } from 'pg';
import { fromServerRows, toServerRow } from '../rows.ts';
import type { ServerBook } from '../server-book.ts';
import type { ServerRow } from '../tables.ts';
import { SCHEMA } from './load-queries.ts';

const COLUMNS =
  'server, abilities, signature, era, transport, at, instructions, extensions, tools, resources, templates, prompts';

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
      const row = toServerRow(memory);
      const { server, abilities, signature, era, transport, at, instructions, extensions } = row;
      const lists = [row.tools, row.resources, row.templates, row.prompts];
      await pool.query(
        `INSERT INTO ${SCHEMA}.servers (${COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
         ON CONFLICT (server, abilities) DO UPDATE
         SET signature = $3, era = $4, transport = $5, at = $6, instructions = $7, extensions = $8,
             tools = $9, resources = $10, templates = $11, prompts = $12`,
        [server, abilities, signature, era, transport, at, instructions, extensions, ...lists],
      );
    },
    async forget({ server, capabilitySet }) {
      await pool.query(`DELETE FROM ${SCHEMA}.servers WHERE server = $1 AND abilities = $2`, [server, capabilitySet]);
    },
  };
}
