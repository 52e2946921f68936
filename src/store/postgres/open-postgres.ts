import type { Kysely } from 'kysely';
import { HeddleError } from '../../core/errors.ts';
import type { DatabaseOptions, StoreDatabase } from '../database.ts';
import type { Tables } from '../tables.ts';
import { loadQueries } from './load-queries.ts';
import { migratePostgres } from './migrate-postgres.ts';
import { openPool } from './open-pool.ts';
import { postgresApiKeyBook } from './postgres-api-key-book.ts';
import { postgresMetricsBook } from './postgres-metrics-book.ts';
import { postgresServerBook } from './postgres-server-book.ts';
import { postgresStatements } from './postgres-statements.ts';
import { postgresWriter } from './postgres-writer.ts';

/** Opens a database that several machines may share. */
export async function openPostgres(
  location: string,
  place: string,
  { durability }: Pick<DatabaseOptions, 'durability'>,
): Promise<StoreDatabase> {
  // The driver's own error would contain the whole URL, password included.
  if (!URL.canParse(location))
    throw new HeddleError('STORE_UNAVAILABLE', `The store's URL ${place} is not a valid URL.`);
  const pool = await openPool(location);
  try {
    await migratePostgres(pool, place);
  } catch (cause) {
    await pool.end();
    throw cause;
  }
  let queries: Promise<Kysely<Tables>> | undefined;
  return {
    isEmbedded: false,
    write: postgresWriter(pool, durability === 'disk'),
    statements: postgresStatements(pool),
    servers: postgresServerBook(pool),
    metrics: postgresMetricsBook(pool),
    keys: postgresApiKeyBook(pool),
    queries() {
      queries ??= loadQueries(pool);
      return queries;
    },
    async close() {
      if (!pool.ending) await pool.end();
    },
  };
}
