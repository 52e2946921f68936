import type { Pool, PoolClient } from 'pg';
import { refuseNewer } from '../migration.ts';
import { inTransaction } from './in-transaction.ts';
import { SCHEMA } from './load-queries.ts';
import { MIGRATIONS } from './migrations.ts';

const KNOWN = MIGRATIONS.length;
/** An arbitrary number that every Heddle uses. */
const LOCK_KEY = 4_833_331;

/** Migrates the tables. Costs one read when they are up to date. */
export async function migratePostgres(pool: Pool, place: string): Promise<void> {
  const found = await versionOf(pool);
  refuseNewer(place, found, KNOWN);
  if (found === KNOWN) return;
  await inTransaction(pool, async (client) => {
    await client.query('SELECT pg_advisory_xact_lock($1)', [LOCK_KEY]);
    // Another process may have migrated while this one waited for the lock.
    const version = await versionOf(client);
    refuseNewer(place, version, KNOWN);
    await client.query(`CREATE SCHEMA IF NOT EXISTS ${SCHEMA}`);
    await client.query(`CREATE TABLE IF NOT EXISTS ${SCHEMA}.schema_version (version integer NOT NULL)`);
    for (const statement of MIGRATIONS.slice(version).flat()) await client.query(statement);
    await client.query(`DELETE FROM ${SCHEMA}.schema_version`);
    await client.query(`INSERT INTO ${SCHEMA}.schema_version VALUES ($1)`, [KNOWN]);
  });
}

async function versionOf(connection: Pool | PoolClient): Promise<number> {
  // Checked first, because reading a missing table would abort the transaction. The catalog is read directly:
  // to_regclass uses a cache that may lack what another session has just committed.
  const tables = await connection.query('SELECT 1 FROM pg_tables WHERE schemaname = $1 AND tablename = $2', [
    SCHEMA,
    'schema_version',
  ]);
  if (tables.rowCount === 0) return 0;
  const version = await connection.query<{ version: number }>(`SELECT version FROM ${SCHEMA}.schema_version`);
  return version.rows[0]?.version ?? 0;
}
