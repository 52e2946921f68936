import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { type FreshDatabase, freshPostgres, recordOf, testPostgres } from '../fixtures.ts';
import { openStore } from '../open-store.ts';

describe.skipIf(!testPostgres)('a store in Postgres', () => {
  let database: FreshDatabase;
  beforeEach(async () => {
    database = await freshPostgres();
  });
  afterEach(() => database.remove());

  it('reconnects after its server drops every connection', async () => {
    const store = await openStore({ location: database.location });
    await store.audit.appendDurably(recordOf({ name: 'before' }));
    await database.run(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
    );
    store.audit.append(recordOf({ name: 'meanwhile' }));
    await expect
      .poll(() => store.audit.appendDurably(recordOf({ name: 'after' })).then(() => 'written'))
      .toBe('written');
    const names = (await store.audit.search({ limit: 9 })).map(({ name }) => name);
    expect(names).toEqual(['after', 'meanwhile', 'before']);
    await store.close();
  });

  verifies('G11', 'waits for the disk with durability disk, even if the role has synchronous_commit off', async () => {
    await (await openStore({ location: database.location })).close();
    await database.run(`
      DO $$ BEGIN EXECUTE format('ALTER ROLE CURRENT_USER IN DATABASE %I SET synchronous_commit = off', current_database()); END $$;
      CREATE TABLE seen (setting text);
      CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN INSERT INTO heddle.seen VALUES (current_setting('synchronous_commit')); RETURN NULL; END $$;
      CREATE TRIGGER see AFTER INSERT ON audit EXECUTE FUNCTION see()`);
    for (const durability of ['commit', 'disk'] as const) {
      const store = await openStore({ location: database.location, durability });
      await store.audit.appendDurably(recordOf());
      await store.audit.checkpoint({ always: true });
      await store.close();
    }
    const seen = await database.run('SELECT setting FROM seen');
    expect(seen.map(({ setting }) => setting)).toEqual(['off', 'off', 'on', 'on']);
  });

  it('creates tables in its own schema only', async () => {
    const store = await openStore({ location: database.location });
    await store.close();
    const tables = await database.run(
      "SELECT DISTINCT schemaname AS schema FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')",
    );
    expect(tables).toEqual([{ schema: 'heddle' }]);
  });
});
