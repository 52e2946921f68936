import { closeSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Kysely } from 'kysely';
import { makeFolder } from '../../files/make-folder.ts';
import type { DatabaseOptions, StoreDatabase } from '../database.ts';
import type { Tables } from '../tables.ts';
import { idleCheckpoint } from './idle-checkpoint.ts';
import { loadQueries } from './load-queries.ts';
import { migrateSqlite } from './migrate-sqlite.ts';
import { sqliteApiKeyBook } from './sqlite-api-key-book.ts';
import { sqliteMetricsBook } from './sqlite-metrics-book.ts';
import { sqliteServerBook } from './sqlite-server-book.ts';
import { sqliteStatements } from './sqlite-statements.ts';
import { sqliteWriter } from './sqlite-writer.ts';

const LOCK_WAIT_MS = 5_000;
// At 64 MB the log is moved into the database, even under load.
const CHECKPOINT_PAGES = 16_000;

/** Opens a SQLite file with mode 0600, or a database in memory. */
export async function openSqlite(
  location: string,
  place: string,
  { clock, durability = 'commit' }: DatabaseOptions,
): Promise<StoreDatabase> {
  const level = durability === 'disk' ? 'FULL' : 'NORMAL';
  if (location !== ':memory:') createPrivately(location);
  const db = new DatabaseSync(location, { timeout: LOCK_WAIT_MS, enableForeignKeyConstraints: true });
  try {
    migrateSqlite(db, place);
    // NORMAL: a commit survives the death of this process at once, and a power failure a moment later.
    // FULL waits for the disk in every transaction, which costs more than all other work of a call.
    db.exec(
      `PRAGMA journal_mode = WAL; PRAGMA synchronous = ${level}; PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`,
    );
    const write = sqliteWriter(db, LOCK_WAIT_MS);
    const checkpoint = idleCheckpoint(db);
    let queries: Promise<Kysely<Tables>> | undefined;
    return {
      isEmbedded: true,
      write(batch) {
        const written = write(batch);
        checkpoint.wrote(batch.records.length + batch.spans.length + (batch.journal?.writes.length ?? 0));
        return written;
      },
      statements: sqliteStatements(db, clock, level),
      servers: sqliteServerBook(db),
      metrics: sqliteMetricsBook(db),
      keys: sqliteApiKeyBook(db),
      queries() {
        queries ??= loadQueries(db);
        return queries;
      },
      async close() {
        checkpoint.close();
        if (db.isOpen) db.close();
      },
    };
  } catch (cause) {
    db.close();
    throw cause;
  }
}

// SQLite gives its side files the mode of the database file.
function createPrivately(location: string): void {
  makeFolder(dirname(location), 0o700);
  closeSync(openSync(location, 'a', 0o600));
}
