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
