import type { Pool } from 'pg';
import type { ApiKeyBook } from '../api-key-book.ts';
import { fromApiKeyRow, toApiKeyRow } from '../rows.ts';
import type { ApiKeyRow } from '../tables.ts';
import { SCHEMA } from './load-queries.ts';

const COLUMNS = 'name, sha256, roles, profile, created_at, person';
const TABLE = `${SCHEMA}.api_keys`;

/** The API keys of every Heddle on this database. */
export function postgresApiKeyBook(pool: Pool): ApiKeyBook {
  return {
    async all() {
      // Ordered by bytes, as SQLite does: the order must not depend on the locale of the database.
      const { rows } = await pool.query<ApiKeyRow>(`SELECT ${COLUMNS} FROM ${TABLE} ORDER BY name COLLATE "C"`);
      return rows.map(fromApiKeyRow);
    },
    async find(sha256) {
      const { rows } = await pool.query<ApiKeyRow>(`SELECT ${COLUMNS} FROM ${TABLE} WHERE sha256 = $1`, [sha256]);
      return rows[0] && fromApiKeyRow(rows[0]);
    },
    async add(key) {
      const { name, sha256, roles, profile, created_at, person } = toApiKeyRow(key);
      const { rowCount } = await pool.query(
        `INSERT INTO ${TABLE} (${COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (name) DO NOTHING`,
        [name, sha256, roles, profile, created_at, person],
      );
      return rowCount === 1;
    },
    async remove(name) {
      const { rowCount } = await pool.query(`DELETE FROM ${TABLE} WHERE name = $1`, [name]);
      return rowCount === 1;
    },
  };
}
