import { DatabaseSync } from 'node:sqlite';
import { expect } from 'vitest';
import { DatabaseFailure } from '../../../../src/builtin/database/database-failure.ts';
import { authorizer } from '../../../../src/builtin/database/sqlite/authorizer.ts';
import { checkSqliteStatement } from '../../../../src/builtin/database/sqlite/check-sqlite-statement.ts';
import { openSqliteFile } from '../../../../src/builtin/database/sqlite/open-sqlite-file.ts';
import { runRequest } from '../../../../src/builtin/database/sqlite/run-request.ts';
import { verifies } from '../../../requirements.ts';
import { ANALYTICS, ATTACKS, BOMBS, HARMLESS } from './attacks.ts';
import { aShop, fingerprintOf, OPTIONS } from './temporary-sqlite.ts';

const SAFE_CODES = ['STATEMENT_REFUSED', 'STATEMENT_FAILED', 'INPUT_INVALID'];

const failureOf = (task: Promise<unknown>): Promise<unknown> =>
  task.then(
    () => 'succeeded',
    (error: unknown) => (error instanceof DatabaseFailure ? error.code : error),
  );

verifies('B2', 'SQLite: no attack on a read-only connection succeeds or changes the folder', async () => {
  const { folder, open } = await aShop();
  const before = fingerprintOf(folder);
  const database = await open();
  const failures = await Promise.all(
    ATTACKS.map(async (sql) => [sql, await failureOf(database.query({ sql, params: [] }, OPTIONS))] as const),
  );
  expect(failures.filter(([, code]) => !SAFE_CODES.includes(String(code)))).toEqual([]);
  expect(fingerprintOf(folder)).toEqual(before);
  const { rows } = await database.query({ sql: 'SELECT count(*) FROM item', params: [] }, OPTIONS);
  expect(rows).toEqual([[3]]);
});

verifies('B2', 'SQLite: a plan of an attack is refused, except of a change, which the plan does not make', async () => {
  const { folder, open } = await aShop();
  const before = fingerprintOf(folder);
  const database = await open();
  const failures = await Promise.all(
    ATTACKS.map(async (sql) => [sql, await failureOf(database.explain({ sql, params: [] }, OPTIONS))] as const),
  );
  const planned = failures.filter(([, code]) => !SAFE_CODES.includes(String(code))).map(([sql]) => sql);
  // The plan of a pragma function does not run it.
  const harmless =
    /FROM pragma_|JOIN pragma_|^(?:WITH [^;]*\) )?(?:INSERT INTO|REPLACE INTO|UPDATE|DELETE FROM) [^;]*$/;
  expect(planned.filter((sql) => !harmless.test(sql))).toEqual([]);
  expect(planned).toEqual(expect.arrayContaining(['DELETE FROM item', 'WITH x AS (SELECT 1) DELETE FROM item']));
  expect(fingerprintOf(folder)).toEqual(before);
});

verifies('B2', 'SQLite: the authorizer alone stops the attacks on a writable file', async () => {
  const { folder, file } = await aShop();
  const before = fingerprintOf(folder);
  process.chdir(folder);
  for (const sql of ATTACKS) {
    const database = new DatabaseSync(file, { allowExtension: true });
    try {
      database.setAuthorizer(authorizer('read').decide);
      database.exec(sql);
    } catch {
      // Refused.
    }
    database.setAuthorizer(null);
    expect([sql, database.isTransaction]).toEqual([sql, false]);
    database.close();
    expect([sql, fingerprintOf(folder)]).toEqual([sql, before]);
  }
  process.chdir('/');
});

verifies('B2', 'SQLite: the read-only file with its limits alone keeps the folder unchanged', async () => {
  const { folder, file } = await aShop();
  const before = fingerprintOf(folder);
  process.chdir(folder);
  for (const sql of ATTACKS) {
    const { db } = openSqliteFile({ file, mayRecover: false, busyMs: 0 }, 'read');
    try {
      db.exec(sql);
    } catch {
      // Refused.
    }
    db.close();
    expect([sql, fingerprintOf(folder)]).toEqual([sql, before]);
  }
  process.chdir('/');
});

verifies('B2', 'SQLite: the check of the form alone refuses every statement that is not one read', async () => {
  const { connection } = await aShop();
  const passed = ATTACKS.filter((sql) => {
    try {
      checkSqliteStatement({ sql, params: [] }, connection, 'read');
      return true;
    } catch {
      return false;
    }
  });
  // Functions, pragmas and tables are the part of the authorizer, wrong syntax that of SQLite.
  const left =
    /^(?:(?:EXPLAIN (?:QUERY PLAN )?)?PRAGMA|EXPLAIN (?:INSERT|UPDATE)|SELECT[^;]*(?:\(|pragma_|INTO|FOR UPDATE|dbpage)|WITH x AS \(DELETE|SELECT ["`[])/i;
  expect(passed.filter((sql) => !left.test(sql))).toEqual([]);
});

verifies('B2', 'SQLite: statements without end are ended, and the connection goes on', async () => {
  const { open } = await aShop();
  const database = await open();
  const left = BOMBS.values();
  const codes: unknown[] = [];
  const worker = async () => {
    for (const sql of left) {
      codes.push(await failureOf(database.query({ sql, params: [] }, { ...OPTIONS, timeoutMs: 800 })));
    }
  };
  await Promise.all([worker(), worker()]);
  const expected = [...SAFE_CODES, 'TIMED_OUT', 'CONNECTION_FAILED'];
  expect(codes.filter((code) => !expected.includes(String(code)))).toEqual([]);
  const { rows } = await database.query({ sql: 'SELECT count(*) FROM item', params: [] }, OPTIONS);
  expect(rows).toEqual([[3]]);
});

verifies('B2', 'SQLite: analytic queries run', async () => {
  const { folder, open } = await aShop();
  const before = fingerprintOf(folder);
  const database = await open();
  const failures = await Promise.all(
    ANALYTICS.map(async (sql) => {
      const outcome = await database.query({ sql, params: [] }, OPTIONS).catch((error: Error) => error.message);
      return typeof outcome === 'string' ? [sql, outcome] : undefined;
    }),
  );
  expect(failures.filter(Boolean)).toEqual([]);
  expect(fingerprintOf(folder)).toEqual(before);
});

verifies('B2', 'SQLite: pragmas that read and plans of changes run, change nothing and show no path', async () => {
  const { folder, open } = await aShop();
  const before = fingerprintOf(folder);
  const database = await open();
  const failures: (readonly [string, string])[] = [];
  for (const sql of HARMLESS) {
    const outcome = await database.query({ sql, params: [] }, OPTIONS).catch((error: Error) => error.message);
    if (typeof outcome === 'string') failures.push([sql, outcome]);
    else expect([sql, JSON.stringify(outcome.rows)]).toEqual([sql, expect.not.stringContaining(folder)]);
  }
  expect(failures).toEqual([]);
  expect(fingerprintOf(folder)).toEqual(before);
  const read = async (sql: string) => (await database.query({ sql, params: [] }, OPTIONS)).rows;
  expect(await read('PRAGMA database_list')).toEqual([[0, 'main', null]]);
  expect(await read('PRAGMA integrity_check')).toEqual([['ok']]);
  expect(await read('PRAGMA user_version')).toEqual([[0]]);
});

verifies('B2', 'SQLite: the plan of a change on a read-only connection runs nothing', async () => {
  const { folder, open } = await aShop();
  const before = fingerprintOf(folder);
  const database = await open();
  const plan = (sql: string, params: readonly (string | number)[] = []) => database.explain({ sql, params }, OPTIONS);
  expect((await plan('DELETE FROM sale WHERE day = ?', ['2026-01-01'])).rows[0]?.[3]).toContain('sale_day');
  expect((await plan('EXPLAIN QUERY PLAN UPDATE item SET price = 1 WHERE id = 1')).rows[0]?.[3]).toContain(
    'PRIMARY KEY',
  );
  await expect(plan('CREATE TABLE x (a)')).rejects.toMatchObject({
    code: 'STATEMENT_REFUSED',
    message: expect.stringContaining('. Send one SELECT, WITH, VALUES, INSERT, REPLACE, UPDATE or DELETE.'),
  });
  expect(fingerprintOf(folder)).toEqual(before);
});

verifies('B2', 'SQLite: there are at least 60 attacks and 20 analytic queries', () => {
  expect(new Set(ATTACKS).size).toBeGreaterThanOrEqual(60);
  expect(new Set(ANALYTICS).size).toBeGreaterThanOrEqual(20);
});

verifies('B2', 'SQLite: a child alone refuses a second statement, which SQLite would ignore', async () => {
  const { file } = await aShop();
  const limits = { named: {}, values: [], maxRows: 10, maxBytes: 1000, isPlan: false, grant: 'read' as const };
  const query = (sql: string) => runRequest({ kind: 'query', file, mayRecover: false, busyMs: 0, sql, ...limits });
  for (const sql of ['SELECT 1; SELECT 2', 'SELECT 1;/* */x', 'SELECT 1\0; DELETE FROM item', "SELECT 1;'"]) {
    expect(() => query(sql)).toThrow(/one statement per call/);
  }
  expect(query('SELECT 1;; -- x\n/* y')).toMatchObject({ rows: [[1]] });
});

verifies('B2', 'SQLite: a Node without authorizer or limits opens no database', async () => {
  const { file } = await aShop();
  const open = () => openSqliteFile({ file, mayRecover: false, busyMs: 0 }, 'read');
  for (const missing of ['setAuthorizer', 'enableDefensive'] as const) {
    const property = Object.getOwnPropertyDescriptor(DatabaseSync.prototype, missing) as PropertyDescriptor;
    Reflect.deleteProperty(DatabaseSync.prototype, missing);
    try {
      expect(open).toThrow(/cannot confine SQLite .* Install Node 24\.15 or newer/);
    } finally {
      Object.defineProperty(DatabaseSync.prototype, missing, property);
    }
  }
  open().db.close();
});
