import type { DatabaseSync } from 'node:sqlite';
import { fromServerRows, toServerRow } from '../rows.ts';
import type { ServerBook } from '../server-book.ts';
import type { ServerRow } from '../tables.ts';

const COLUMNS =
  'server, abilities, signature, era, transport, at, instructions, extensions, tools, resources, templates, prompts';

/** The server lists. Statements are prepared by hand: every start reads them, and the query builder loads slowly. */
export function sqliteServerBook(db: DatabaseSync): ServerBook {
  return {
    async all() {
      const rows = db.prepare(`SELECT ${COLUMNS} FROM servers ORDER BY server, abilities`).all();
      return fromServerRows(rows as unknown as ServerRow[]);
    },
    async remember(memory) {
      const row = toServerRow(memory);
      const { server, abilities, signature, era, transport, at, instructions, extensions } = row;
      const lists = [row.tools, row.resources, row.templates, row.prompts];
      const insert = `INSERT OR REPLACE INTO servers (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
      db.prepare(insert).run(server, abilities, signature, era, transport, at, instructions, extensions, ...lists);
    },
    async forget({ server, capabilitySet }) {
      db.prepare('DELETE FROM servers WHERE server = ? AND abilities = ?').run(server, capabilitySet);
    },
  };
}
