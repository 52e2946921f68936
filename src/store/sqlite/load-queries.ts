import type { DatabaseSync } from 'node:sqlite';
import type { Kysely } from 'kysely';
import type { Tables } from '../tables.ts';

/** Loads the query builder, which costs more to load than everything else an up-to-date store needs. */
export async function loadQueries(db: DatabaseSync): Promise<Kysely<Tables>> {
  const [{ Kysely }, { nodeSqliteDialect }] = await Promise.all([import('kysely'), import('./node-sqlite-dialect.ts')]);
  return new Kysely<Tables>({ dialect: nodeSqliteDialect(db) });
}
