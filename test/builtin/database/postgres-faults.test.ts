import type { DatabaseError } from 'pg';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import type { Database } from '../../../src/builtin/database/database.ts';
import type { DatabaseFailure } from '../../../src/builtin/database/database-failure.ts';
import { openPostgresDatabase } from '../../../src/builtin/database/postgres/open-postgres-database.ts';
import { explainStatementError } from '../../../src/builtin/database/postgres/postgres-failure.ts';
import { within } from '../../limits.ts';
import { verifies } from '../../requirements.ts';
import { until } from '../../until.ts';
import { createPostgresFixture, type PostgresFixture, runOptions, testPostgresServer } from './postgres-fixture.ts';

const never = new AbortController().signal;

describe.skipIf(!testPostgresServer)('a Postgres connection under faults', () => {
  let fixture: PostgresFixture;
  let database: Database;

  beforeAll(async () => {
    fixture = await createPostgresFixture();
    database = await openPostgresDatabase(fixture.connection('writer'), never);
  });

  afterAll(async () => {
    await database?.close();
    await fixture?.remove();
  });

  const query = (sql: string, change = {}) => database.query({ sql, params: [] }, runOptions(change));
  const OURS = `datname = current_database() AND usename LIKE '%\\_writer'`;
  const waiting = async () => {
    const sql = `SELECT count(*)::int AS count FROM pg_stat_activity WHERE ${OURS} AND wait_event_type = 'Lock'`;
    // A transaction sees the same statistics all the time otherwise.
    await fixture.admin.query('SELECT pg_stat_clear_snapshot()');
    return (await fixture.admin.query<{ count: number }>(sql)).rows[0]?.count ?? 0;
  };
  const terminate = () => fixture.admin.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${OURS}`);

  /** Runs work while every statement on the table `w` has to wait. */
  async function whileLocked(work: () => Promise<void>): Promise<void> {
    await fixture.admin.query('BEGIN; LOCK TABLE w IN ACCESS EXCLUSIVE MODE');
    try {
      await work();
    } finally {
      await fixture.admin.query('ROLLBACK');
    }
  }

  verifies('B2', 'a timeout ends the statement at the server', async () => {
    await whileLocked(async () => {
      const call = within(50 + 500, () => query('SELECT * FROM w', { timeoutMs: 50 }));
      await expect(call).rejects.toMatchObject({ code: 'TIMED_OUT' });
      await until('no statement waits', async () => (await waiting()) === 0);
    });
  });

  verifies('B2', 'a cancellation ends the statement at the server, and a write is not committed', async () => {
    await whileLocked(async () => {
      for (const run of ['query', 'execute'] as const) {
        const sql = run === 'query' ? 'SELECT * FROM w' : 'UPDATE w SET n = n + 1';
        const abort = new AbortController();
        const call = database[run]({ sql, params: [] }, runOptions({ signal: abort.signal }));
        await until('the statement waits', async () => (await waiting()) === 1);
        abort.abort();
        await expect(call).rejects.toMatchObject({ code: 'CANCELLED' });
        await until('no statement waits', async () => (await waiting()) === 0);
      }
    });
    expect((await query('SELECT n FROM w ORDER BY n')).rows).toEqual([[1], [2]]);
  });

  verifies('B2', 'a call that is cancelled beforehand sends nothing', async () => {
    await expect(query('SELECT 1', { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'CANCELLED' });
  });

  verifies('B2', 'a call that finds no free connection times out, and the others end', async () => {
    await whileLocked(async () => {
      const busy = Array.from({ length: 4 }, () =>
        query('SELECT count(*) FROM w').catch((error: Error) => error.message),
      );
      await until('all connections wait', async () => (await waiting()) === 4);
      await expect(query('SELECT 1', { timeoutMs: 20 })).rejects.toMatchObject({
        code: 'TIMED_OUT',
        message: expect.stringContaining('No connection of "main" was free within 20 ms'),
      });
      await fixture.admin.query('ROLLBACK');
      expect((await Promise.all(busy)).map((result) => (typeof result === 'string' ? result : result.rows))).toEqual(
        Array(4).fill([[2]]),
      );
    });
    expect((await query('SELECT 1')).rows).toEqual([[1]]);
  });

  verifies('B2', 'a terminated connection fails its statement with a code, and the next call works', async () => {
    await whileLocked(async () => {
      const call = query('SELECT * FROM w').catch((error: DatabaseFailure) => error);
      const write = database
        .execute({ sql: 'UPDATE w SET n = 0', params: [] }, runOptions())
        .catch((error: DatabaseFailure) => error);
      await until('both wait', async () => (await waiting()) === 2);
      await terminate();
      expect(await call).toMatchObject({ code: 'CONNECTION_FAILED' });
      expect(await write).toMatchObject({ code: 'STATEMENT_FAILED', message: expect.stringContaining('rolled back') });
    });
    expect((await query('SELECT n FROM w ORDER BY n')).rows).toEqual([[1], [2]]);
  });

  verifies('B2', 'idle connections that the server has closed are replaced without an error', async () => {
    await Promise.all([1, 2, 3, 4].map((n) => query(`SELECT ${n}`)));
    await terminate();
    for (const n of [1, 2, 3, 4, 5]) expect((await query(`SELECT ${n}`)).rows).toEqual([[n]]);
    await terminate();
    expect(await database.execute({ sql: 'UPDATE w SET n = n', params: [] }, runOptions())).toMatchObject({
      affectedRows: 2,
    });
  });

  verifies('B2', '100 queries while connections are terminated return rows or codes', async () => {
    const outcomes: string[] = [];
    const run = async (n: number) => {
      const { rows } = await query(`SELECT ${n}`);
      outcomes.push(rows[0]?.[0] === n ? 'right' : 'wrong');
    };
    for (let round = 0; round < 10; round++) {
      const calls = Array.from({ length: 10 }, (_, n) =>
        run(n).catch(({ code }: DatabaseFailure) => outcomes.push(code)),
      );
      await Promise.all([terminate(), ...calls]);
    }
    expect(outcomes.filter((outcome) => outcome !== 'right' && outcome !== 'CONNECTION_FAILED')).toEqual([]);
    expect((await query('SELECT 1')).rows).toEqual([[1]]);
  });

  verifies('B2', 'errors name no address, user, database or password', async () => {
    const { name } = fixture;
    const url = new URL(fixture.connection('writer').url ?? '');
    const failing = [
      { url: `postgres://${name}_nobody:secret-word@127.0.0.1:${url.port}/${name}` },
      { url: `postgres://${name}_writer:secret-word@127.0.0.1:${url.port}/${name}_missing` },
      { url: 'postgres://secret-user:secret-word@127.0.0.1:1/secret-base' },
      { url: 'postgres://secret-user:secret-word@secret-host.invalid/secret-base' },
      { url: `postgres://${name}_writer:secret-word@127.0.0.1:${url.port}/${name}`, ssl: true },
      { url: 'postgres://secret-user:secret word@[' },
    ];
    for (const change of failing) {
      const error = await openPostgresDatabase(fixture.connection('writer', change), never).catch((thrown) => thrown);
      expect(error).toMatchObject({ code: 'CONNECTION_FAILED' });
      expect(inspected(error)).not.toMatch(/secret|127\.0\.0\.1|heddle_/);
    }
    const denied = await database
      .execute({ sql: 'INSERT INTO pg_class VALUES (1)', params: [] }, runOptions())
      .catch((e) => e);
    expect(inspected(denied)).not.toMatch(/heddle_|127/);
    const server = { severity: 'ERROR', code: '42501', message: `permission denied for database "${name}"` };
    const error = Object.assign(new Error(), server) as DatabaseError;
    const explained = explainStatementError(error, { prefix: '', sql: '' }, fixture.connection('writer'));
    expect(explained.message).toBe('The database reports: permission denied for database "…".');
  });

  const inspected = (error: Error): string => `${error.message} ${JSON.stringify(error)} ${String(error.cause)}`;

  verifies('B2', 'a closed connection refuses calls', async () => {
    const other = await openPostgresDatabase(fixture.connection('reader'), never);
    await other.close();
    await other.close();
    await expect(other.query({ sql: 'SELECT 1', params: [] }, runOptions())).rejects.toMatchObject({
      code: 'CONNECTION_FAILED',
    });
  });

  verifies('B2', 'bad input gets one sentence, and the pool still works', async () => {
    const cases: Readonly<Record<string, string>> = {
      '': 'An empty statement',
      ' -- nothing\n;': 'An empty statement',
      'SELECT 1; SELECT 2': 'A second statement (line 1, column 11)',
      'SELECT \0 1': 'contains a NUL',
      "SELECT '\ud800'": 'half a character',
      [`SELECT '${'x'.repeat(1024 ** 2)}'`]: 'and 102400 are allowed',
      [`SELECT ${'('.repeat(20_000)}1`]: 'nested too deeply',
      [`SELECT ${'1+'.repeat(40_000)}1`]: 'nested too deeply',
      'SELECT\n  1 FRM people': 'syntax error at or near "people" (line 2, column 9)',
      "SELECT 'é😀', nix FROM people": 'column "nix" does not exist (line 1, column 14)',
      "SELECT 'é😀', pg_sleep(1)": 'The function "pg_sleep" (line 1, column 14)',
      'SELECT 1/0': 'division by zero',
      'SELECT no_such_function(1)': 'function no_such_function(integer) does not exist',
    };
    for (const [sql, message] of Object.entries(cases)) await expect(query(sql), message).rejects.toThrow(message);
    expect((await query('SELECT 1')).rows).toEqual([[1]]);
  });
});
