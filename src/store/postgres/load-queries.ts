import type { Kysely } from 'kysely';
import type { Pool } from 'pg';
import type { Tables } from '../tables.ts';

/** Heddle keeps to a schema of its own, so that it can live in a database that others use too. */
export const SCHEMA = 'heddle';

/** Brings in the query builder, on the same connections as everything else. */
export async function loadQueries(pool: Pool): Promise<Kysely<Tables>> {
  const { Kysely, PostgresDialect } = await import('kysely');
  return new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) }).withSchema(SCHEMA);
}
