import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import type { Database } from '../../../src/builtin/database/database.ts';
import type { DatabaseFailure } from '../../../src/builtin/database/database-failure.ts';
import { openPostgresDatabase } from '../../../src/builtin/database/postgres/open-postgres-database.ts';
import { verifies } from '../../requirements.ts';
import { POSTGRES_ATTACKS, TARGET } from './postgres-attacks.ts';
import {
  createPostgresFixture,
  type PostgresFixture,
  postgresState,
  runOptions,
  testPostgresServer,
} from './postgres-fixture.ts';
import { POSTGRES_QUERIES } from './postgres-queries.ts';

const never = new AbortController().signal;

describe.skipIf(!testPostgresServer)('a Postgres connection for reading', () => {
  let fixture: PostgresFixture;
  const open: Database[] = [];
  let target: string;
  const attacks = () => POSTGRES_ATTACKS.map((attack) => ({ ...attack, sql: attack.sql.replaceAll(TARGET, target) }));

  const openAs = async (...args: Parameters<PostgresFixture['connection']>) => {
    const database = await openPostgresDatabase(fixture.connection(...args), never);
    open.push(database);
    return database;
  };

  beforeAll(async () => {
    fixture = await createPostgresFixture();
    target = join(tmpdir(), `${fixture.name}-attack`);
  });

  afterAll(async () => {
    await Promise.all(open.map((database) => database.close()));
    await fixture?.remove();
  });

  /** Returns undefined if a statement was refused before it was sent. */
  const sentAnyway = (call: Promise<unknown>): Promise<string | undefined> =>
    call.then(
      () => 'permitted',
      ({ code, message }: DatabaseFailure) =>
        code === 'STATEMENT_REFUSED' || message.startsWith('The statement is no valid SQL') ? undefined : message,
    );

  verifies('B2', 'refuses every attack before it is sent, even as a superuser, and nothing changes', async () => {
    const database = await openAs('admin');
    const before = await postgresState(fixture);
    const permitted: string[] = [];
    for (const { name, sql } of attacks()) {
      const outcome = await sentAnyway(database.query({ sql, params: [] }, runOptions()));
      if (outcome) permitted.push(`${name}: ${sql}: ${outcome}`);
    }
    expect(permitted).toEqual([]);
    expect(await postgresState(fixture)).toBe(before);
    expect(existsSync(target)).toBe(false);
    expect(POSTGRES_ATTACKS.length).toBeGreaterThanOrEqual(80);
  });

  verifies('B2', 'plans changes and volatile functions even as a superuser, and nothing of them runs', async () => {
    const database = await openAs('admin');
    const before = await postgresState(fixture);
    const plans: string[] = [];
    for (const { sql } of attacks()) {
      const explained = await database.explain({ sql, params: [] }, runOptions()).catch(() => undefined);
      if (explained) plans.push(sql);
      const written = await database.query({ sql: `EXPLAIN ${sql}`, params: [] }, runOptions()).catch(() => undefined);
      expect([sql, written === undefined]).toEqual([sql, explained === undefined]);
    }
    expect(plans).toEqual(
      expect.arrayContaining([
        ...['DELETE FROM w', 'SELECT bump()', "SELECT nextval('s')", 'SELECT * FROM w FOR UPDATE'],
        'WITH a AS (INSERT INTO w VALUES (5) RETURNING 1) SELECT * FROM a',
        'MERGE INTO w USING people p ON p.id = w.n WHEN MATCHED THEN DELETE',
      ]),
    );
    expect(await postgresState(fixture)).toBe(before);
    expect(existsSync(target)).toBe(false);
  });

  verifies('B2', 'runs EXPLAIN ANALYZE of a read under its timeout, and reports the values of sequences', async () => {
    const database = await openAs('admin');
    const run = (sql: string, change = {}) => database.query({ sql, params: [] }, runOptions(change));
    const { rows } = await run('EXPLAIN (ANALYZE, TIMING off) SELECT * FROM people');
    expect(JSON.stringify(rows)).toContain('(actual rows=3 loops=1)');
    const endless = 'EXPLAIN ANALYZE SELECT count(*) FROM generate_series(1, 1000000000000)';
    await expect(run(endless, { timeoutMs: 1_000 })).rejects.toMatchObject({ code: 'TIMED_OUT' });
    await expect(run("SELECT currval('s')")).rejects.toThrow('currval of sequence "s" is not yet defined');
    expect((await run('SELECT checkpoint_lsn IS NULL FROM pg_control_checkpoint()')).rows).toEqual([[false]]);
  });

  verifies('B2', 'lets the analytic queries pass', async () => {
    const database = await openAs('reader');
    const refused: string[] = [];
    for (const sql of POSTGRES_QUERIES) {
      await database
        .query({ sql, params: [] }, runOptions())
        .catch((error: Error) => refused.push(`${sql}: ${error.message}`));
    }
    expect(refused).toEqual([]);
    expect(POSTGRES_QUERIES.length).toBeGreaterThanOrEqual(40);
  });
});
