import type { Kysely } from 'kysely';
import type { Pool } from 'pg';
import type { Tables } from '../tables.ts';

/** The Postgres schema of Heddle, so that it can share a database with other programs. */
export const SCHEMA = 'heddle';

/** Loads the query builder, on the same connection pool as all other queries. */
export async function loadQueries(pool: Pool): Promise<Kysely<Tables>> {
  const { Kysely, PostgresDialect } = await import('kysely');
  return new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) }).withSchema(SCHEMA);
}
