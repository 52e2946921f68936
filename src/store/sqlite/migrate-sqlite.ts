import type { DatabaseSync } from 'node:sqlite';
import { refuseNewer } from '../migration.ts';
import { MIGRATIONS } from './migrations.ts';

const KNOWN = MIGRATIONS.length;

/** Migrates the tables. Costs one read when they are up to date. */
export function migrateSqlite(db: DatabaseSync, place: string): void {
  const found = versionOf(db);
  refuseNewer(place, found, KNOWN);
  if (found === KNOWN) return;
  db.exec('BEGIN IMMEDIATE');
  try {
    // Another process may have migrated while this one waited for the lock.
    const version = versionOf(db);
    refuseNewer(place, version, KNOWN);
    for (const statement of MIGRATIONS.slice(version).flat()) db.exec(statement);
    db.exec(`PRAGMA user_version = ${KNOWN}`);
    db.exec('COMMIT');
  } catch (cause) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw cause;
  }
}

function versionOf(db: DatabaseSync): number {
  return Number(db.prepare('PRAGMA user_version').get()?.user_version);
}
