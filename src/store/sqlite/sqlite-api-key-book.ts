import type { DatabaseSync } from 'node:sqlite';
import type { ApiKeyBook } from '../api-key-book.ts';
import { fromApiKeyRow, toApiKeyRow } from '../rows.ts';
import type { ApiKeyRow } from '../tables.ts';

const COLUMNS = 'name, sha256, roles, profile, created_at, person';

/** The API keys. Statements are prepared by hand, because every request with a key reads here. */
export function sqliteApiKeyBook(db: DatabaseSync): ApiKeyBook {
  let finding: ReturnType<DatabaseSync['prepare']> | undefined;
  return {
    async all() {
      const rows = db.prepare(`SELECT ${COLUMNS} FROM api_keys ORDER BY name`).all();
      return (rows as unknown as ApiKeyRow[]).map(fromApiKeyRow);
    },
    async find(sha256) {
      finding ??= db.prepare(`SELECT ${COLUMNS} FROM api_keys WHERE sha256 = ?`);
      const row = finding.get(sha256) as unknown as ApiKeyRow | undefined;
      return row && fromApiKeyRow(row);
    },
    async add(key) {
      const { name, sha256, roles, profile, created_at, person } = toApiKeyRow(key);
      const insert = db.prepare(
        `INSERT INTO api_keys (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (name) DO NOTHING`,
      );
      return insert.run(name, sha256, roles, profile, created_at, person).changes === 1;
    },
    remove: async (name) => db.prepare('DELETE FROM api_keys WHERE name = ?').run(name).changes === 1,
  };
}
