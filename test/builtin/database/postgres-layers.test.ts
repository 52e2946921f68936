import type { PoolClient } from 'pg';
import Cursor from 'pg-cursor';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { type Deadline, startDeadline } from '../../../src/builtin/database/deadline.ts';
import { openPostgresDatabase } from '../../../src/builtin/database/postgres/open-postgres-database.ts';
import { openPostgresPool, type PostgresPool } from '../../../src/builtin/database/postgres/postgres-pool.ts';
import { type ReadRequest, readPostgresRows } from '../../../src/builtin/database/postgres/read-postgres-rows.ts';
import { runAndCommit, runReadOnly } from '../../../src/builtin/database/postgres/transaction.ts';
import { verifies } from '../../requirements.ts';
import { until } from '../../until.ts';
import { POSTGRES_ATTACKS } from './postgres-attacks.ts';
import {
  createPostgresFixture,
  type PostgresFixture,
  postgresState,
  runOptions,
  testPostgresServer,
} from './postgres-fixture.ts';

const never = new AbortController().signal;

describe.skipIf(!testPostgresServer)('a layer of the read-only Postgres connection, alone,', () => {
  let fixture: PostgresFixture;
  let pool: PostgresPool;

  beforeAll(async () => {
    fixture = await createPostgresFixture();
    pool = await openPostgresPool(fixture.connection('writer'));
  });

  afterAll(async () => {
    await pool?.end();
    await fixture?.remove();
  });

  /** Runs SQL without the check of statements and functions. */
  async function run(sql: string, change: Partial<ReadRequest> = {}, runIn = runReadOnly, timeoutMs = 120_000) {
    const deadline = startDeadline({ timeoutMs, signal: never });
    const scope = { pool, connection: fixture.connection('writer'), deadline, sent: { prefix: '', sql } };
    const request: ReadRequest = { sql, params: [], maxRows: 10, maxBytes: 1024 ** 2, extent: 'limited', ...change };
    try {
      return await runIn(scope, (open) => readPostgresRows(open, Cursor, request));
    } finally {
      deadline.clear();
    }
  }

  verifies('B2', 'role: a role that reaches files of the server opens with allowPrivilegedRole only', async () => {
    const openAs = (...args: Parameters<PostgresFixture['connection']>) =>
      openPostgresDatabase(fixture.connection(...args), never);
    await expect(openAs('admin', { allowPrivilegedRole: false })).rejects.toMatchObject({
      code: 'CONNECTION_FAILED',
      message: expect.stringContaining('its role is a superuser'),
    });
    await expect(openAs('files')).rejects.toThrow('its role has pg_read_server_files');
    const lifted = await openAs('files', { allowPrivilegedRole: true });
    expect(lifted.warnings).toEqual([expect.stringContaining('although its role has pg_read_server_files')]);
    const writer = await openAs('writer', { access: 'read' });
    expect(writer.warnings).toEqual([expect.stringContaining('its role can write tables')]);
    const reader = await openAs('reader');
    expect(reader.warnings).toEqual([]);
    await Promise.all([lifted, writer, reader].map((database) => database.close()));
  });

  verifies('B2', 'protocol: a text with two statements is rejected by the server', async () => {
    const before = await postgresState(fixture);
    const attack = run('INSERT INTO w VALUES (1); INSERT INTO w VALUES (2)', {}, runAndCommit);
    await expect(attack).rejects.toThrow('cannot insert multiple commands into a prepared statement');
    expect(await postgresState(fixture)).toBe(before);
  });

  verifies('B2', 'transaction: attacks that pass no check change nothing', async () => {
    const before = await postgresState(fixture);
    const notified: unknown[] = [];
    fixture.admin.on('notification', (message) => notified.push(message));
    await fixture.admin.query('LISTEN a');
    // Left out: those that end the session itself or need data from a client, and non-transactional messages.
    const left = /COPY|pg_sleep|pg_terminate_backend|dblink|pg_logical_emit|DISCARD|VACUUM|60/;
    const attacks = POSTGRES_ATTACKS.filter(({ sql, needsSuperuser }) => !needsSuperuser && !left.test(sql));
    expect(attacks.length).toBeGreaterThan(120);
    for (const { sql } of attacks) await run(sql).catch(() => undefined);
    await run('SELECT quiet_definer()').catch(() => undefined);
    await run('SELECT * FROM bumping').catch(() => undefined);
    await run('SELECT 1 <<<>>> 2').catch(() => undefined);
    expect(await postgresState(fixture)).toBe(before);
    expect(notified).toEqual([]);
    await fixture.admin.query('UNLISTEN *');
  });

  verifies('B2', 'amount: rows and bytes are limited, even of a single row', async () => {
    const many = await run('SELECT generate_series(1, 1000000000)');
    expect(many).toMatchObject({ truncated: true, seen: 11 });
    expect(many.rows).toHaveLength(10);
    const whole = await run('SELECT generate_series(1, 10)');
    expect(whole).toMatchObject({ truncated: false, seen: 10 });
    const large = await run("SELECT repeat('x', 100000) FROM generate_series(1, 100)", { maxRows: 100 });
    expect(large.truncated).toBe(true);
    expect(JSON.stringify(large.rows).length).toBeLessThan(1.1 * 1024 ** 2);
    expect(large.rows.length).toBeGreaterThan(4);
    await expect(run("SELECT repeat('x', 10000000)")).rejects.toThrow('The first row has more than 1048576 bytes');
    // The pool still works.
    expect((await run('SELECT 1')).rows).toEqual([[1]]);
  });

  verifies('B2', 'time: a statement is cancelled at the server after its timeout', async () => {
    await expect(run('SELECT pg_sleep(600)', {}, runReadOnly, 50)).rejects.toMatchObject({ code: 'TIMED_OUT' });
    await until('the statement has left the server', async () => (await runningSleeps()) === 0);
  });

  verifies('B2', 'time: the server itself ends a statement that Heddle cannot cancel', async () => {
    const frozen = { ...pool, cancel: () => undefined, drop: () => undefined };
    const deadline = startDeadline({ timeoutMs: 50, signal: never });
    const scope = { pool: frozen, connection: fixture.connection('writer'), deadline, sent: { prefix: '', sql: '' } };
    const client = Promise.withResolvers<{ release(destroy: boolean): void }>();
    const work = runReadOnly(scope, (open) => {
      client.resolve(open.client);
      return open.client.query('SELECT pg_sleep(600)');
    });
    await expect(work).rejects.toMatchObject({ code: 'TIMED_OUT' });
    await until('the statement has left the server', async () => (await runningSleeps()) === 0);
    (await client.promise).release(true);
    deadline.clear();
  });

  const runningSleeps = async () => {
    const sql = `SELECT count(*)::int AS count FROM pg_stat_activity
      WHERE datname = current_database() AND state = 'active' AND query LIKE 'SELECT pg_sleep%'`;
    return (await fixture.admin.query<{ count: number }>(sql)).rows[0]?.count;
  };

  /** Takes the connection of a process of the server as soon as it is free. */
  async function beginOn(processId: number, deadline: Deadline): Promise<PoolClient> {
    for (;;) {
      const client = await pool.begin('BEGIN', deadline);
      if ((client as unknown as { processID: number }).processID === processId) return client;
      pool.drop(client);
    }
  }

  verifies('B2', 'state: nothing that a statement leaves on a connection reaches the next one', async () => {
    const deadline = startDeadline({ timeoutMs: 120_000, signal: never });
    const client = await pool.begin('BEGIN', deadline);
    for (const sql of [
      'COMMIT',
      "SET search_path = 'elsewhere'",
      'SET statement_timeout = 12345',
      'LISTEN a',
      'PREPARE p AS SELECT 1',
      'CREATE TEMP TABLE left_behind (a int)',
      'SELECT pg_advisory_lock(7)',
      'DECLARE c CURSOR WITH HOLD FOR SELECT 1',
      'BEGIN',
    ]) {
      await client.query(sql);
    }
    const { processID } = client as unknown as { processID: number };
    pool.restore(client, 'open');
    const locks = 'SELECT 1 FROM pg_locks WHERE pid = $1 AND locktype = $2';
    await until(
      'the lock is gone',
      async () => (await fixture.admin.query(locks, [processID, 'advisory'])).rowCount === 0,
    );
    const again = await beginOn(processID, deadline);
    const { rows } = await again.query(`SELECT current_setting('search_path') AS path,
      current_setting('statement_timeout') AS timeout, (SELECT count(*)::int FROM pg_prepared_statements) AS prepared,
      (SELECT count(*)::int FROM pg_cursors WHERE name = 'c') AS cursors, to_regclass('left_behind') AS temporary,
      (SELECT count(*)::int FROM pg_listening_channels()) AS channels`);
    const clean = { path: '"$user", public', timeout: '0', prepared: 0, cursors: 0, temporary: null, channels: 0 };
    expect(rows).toEqual([clean]);
    pool.restore(again, 'open');
    deadline.clear();
  });

  verifies('B2', 'settings of the role do not change how SQL and values are read', async () => {
    const role = `${fixture.name}_writer`;
    await fixture.admin.query(`ALTER ROLE ${role} SET standard_conforming_strings = off`);
    await fixture.admin.query(
      `ALTER ROLE ${role} SET bytea_output = escape; ALTER ROLE ${role} SET extra_float_digits = -10`,
    );
    const database = await openPostgresDatabase(fixture.connection('writer'), never);
    try {
      const sql = "SELECT 'a\\' || ' , bump() --' AS a, '\\x00ff'::bytea AS b, 0.1::float8 + 0.2::float8 AS c";
      const { rows } = await database.query({ sql, params: [] }, runOptions());
      expect(rows).toEqual([['a\\ , bump() --', 'AP8=', 0.30000000000000004]]);
    } finally {
      await database.close();
      await fixture.admin.query(`ALTER ROLE ${role} RESET ALL`);
    }
  });
});
