import type { DatabaseSync } from 'node:sqlite';
import { fromServerRows, toServerRow } from '../rows.ts';
import type { ServerBook } from '../server-book.ts';
import type { ServerRow } from '../tables.ts';

/** Prepared by hand: it is read at every start, where the query builder would be too slow to load. */
export function sqliteServerBook(db: DatabaseSync): ServerBook {
  return {
    async all() {
      const rows = db.prepare('SELECT server, signature, era, tools, at FROM servers ORDER BY server').all();
      return fromServerRows(rows as unknown as ServerRow[]);
    },
    async remember(memory) {
      const { server, signature, era, tools, at } = toServerRow(memory);
      db.prepare('INSERT OR REPLACE INTO servers (server, signature, era, tools, at) VALUES (?, ?, ?, ?, ?)').run(
        server,
        signature,
        era,
        tools,
        at,
      );
    },
  };
}
