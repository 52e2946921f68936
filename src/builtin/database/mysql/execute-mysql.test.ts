import { afterAll, beforeAll, describe, expect } from 'vitest';
import { verifies } from '../../../../test/requirements.ts';
import { until } from '../../../../test/until.ts';
import type { Database } from '../database.ts';
import { type MysqlBench, mysqlBench, runOptions, testMariadb } from './fixtures.ts';

describe.skipIf(!testMariadb)('writing to MariaDB', () => {
  let bench: MysqlBench;
  let database: Database;
  let defining: Database;

  beforeAll(async () => {
    bench = await mysqlBench();
    await bench.run(`CREATE TABLE counters (id INT PRIMARY KEY AUTO_INCREMENT, n INT) ENGINE = InnoDB;
      CREATE TABLE old_table (n INT PRIMARY KEY) ENGINE = MyISAM;
      CREATE SEQUENCE numbers;
      CREATE FUNCTION next_price() RETURNS INT RETURN 7;
      INSERT INTO counters (n) VALUES (1), (1), (5)`);
    database = await bench.open('writer', { access: 'readwrite' });
    defining = await bench.open('writer', { access: 'readwrite', allowDdl: true });
  });
  afterAll(() => bench.remove());

  const execute = (sql: string, params: readonly (string | number | null)[] = []) =>
    database.execute({ sql, params }, runOptions());
  const counters = async () => (await bench.run('SELECT n FROM counters ORDER BY id')).map(({ n }) => n);
  /** Waits until another connection of this test's users runs a statement with this text. */
  const isRunning = (text: string) => async () =>
    (
      await bench.run('SELECT 1 FROM information_schema.PROCESSLIST WHERE USER LIKE ? AND INFO LIKE ?', [
        `${bench.schema}%`,
        `%${text}%`,
      ])
    ).length > 0;

  verifies('B2', 'commits a change, and counts matched rows', async () => {
    expect(await execute('UPDATE counters SET n = ? WHERE n = 1', [1])).toMatchObject({ affectedRows: 2, rows: [] });
    expect(await execute('UPDATE counters SET n = n + 1 WHERE id <= ?', [2])).toMatchObject({ affectedRows: 2 });
    expect(await counters()).toEqual([2, 2, 5]);
    expect(await execute('INSERT INTO counters (n) VALUES (?), (?);', [8, 9])).toMatchObject({ affectedRows: 2 });
    expect(await execute('DELETE FROM counters WHERE n IN (8, 9)')).toMatchObject({ affectedRows: 2 });
    expect(await execute('INSERT INTO counters (n) SELECT next_price()')).toMatchObject({ affectedRows: 1 });
    expect(await execute('REPLACE INTO counters (id, n) VALUES (1, 2)')).toMatchObject({ affectedRows: 1 });
    await bench.run('DELETE FROM counters WHERE n = 7');
  });

  verifies('B2', 'returns the rows of RETURNING within the limit, and writes all', async () => {
    const written = await database.execute(
      { sql: 'INSERT INTO counters (n) SELECT seq + 100 FROM seq_1_to_10 RETURNING n', params: [] },
      runOptions({ maxRows: 3 }),
    );
    expect(written).toMatchObject({ affectedRows: 10, rows: [[101], [102], [103]], truncated: true });
    expect(await execute('DELETE FROM counters WHERE n > 100 RETURNING n')).toMatchObject({ affectedRows: 10 });
  });

  verifies('B2', 'refuses all but one INSERT, REPLACE, UPDATE or DELETE, and dangerous functions', async () => {
    const refused = [
      'SELECT 1',
      'CREATE TABLE x (a INT)',
      'DROP TABLE counters',
      'TRUNCATE counters',
      'UPDATE counters SET n = SLEEP(1)',
      'UPDATE counters SET n = `sleep`(1)',
      'INSERT DELAYED INTO old_table VALUES (7)',
      'REPLACE DELAYED old_table VALUES (7)',
      "INSERT INTO counters (n) VALUES (GET_LOCK('x', 1))",
      "INSERT INTO counters (n) SELECT LENGTH(LOAD_FILE('/etc/passwd'))",
      "INSERT INTO counters (n) SELECT 1 INTO OUTFILE '/tmp/x'",
      'INSERT INTO counters (n) SELECT NEXTVAL(numbers)',
      'INSERT INTO counters (n) VALUES (NEXT VALUE FOR numbers)',
      'UPDATE counters SET n = @a := 5',
      'DELETE FROM counters; DELETE FROM counters',
      'DELETE /*! QUICK */ FROM counters',
      "LOAD DATA INFILE '/etc/passwd' INTO TABLE counters",
      'CALL something()',
      'DO 1',
      'SET @a = 1',
      "EXECUTE IMMEDIATE 'DELETE FROM counters'",
      'HANDLER counters OPEN',
      'WITH c AS (SELECT 1) SELECT * FROM c',
      'BEGIN NOT ATOMIC DELETE FROM counters; END',
      'GRANT ALL ON *.* TO x',
    ];
    const before = await counters();
    for (const sql of refused) {
      await expect(execute(sql), sql).rejects.toMatchObject({ code: 'STATEMENT_REFUSED' });
      await expect(database.preview({ sql, params: [] }, runOptions()), sql).rejects.toMatchObject({
        code: 'STATEMENT_REFUSED',
      });
    }
    expect(await counters()).toEqual(before);
    const reader = await bench.open('reader');
    await expect(reader.execute({ sql: 'DELETE FROM counters', params: [] }, runOptions())).rejects.toMatchObject({
      code: 'STATEMENT_REFUSED',
    });
  });

  verifies('B2', 'defines tables, indexes, views and sequences with allowDdl, and nothing else', async () => {
    const permitted = [
      'CREATE TABLE made (a INT PRIMARY KEY, b VARCHAR(10)) ENGINE = InnoDB',
      'CREATE UNIQUE INDEX made_b ON made (b)',
      'ALTER TABLE made ADD c INT',
      "CREATE OR REPLACE SQL SECURITY INVOKER VIEW made_view AS SELECT a FROM made WHERE b <> 'TEMPORARY'",
      'CREATE SEQUENCE made_numbers START WITH 5',
      'TRUNCATE TABLE made',
      'DROP INDEX made_b ON made',
      'DROP VIEW made_view',
      'DROP SEQUENCE made_numbers',
      'DROP TABLE made',
    ];
    for (const sql of permitted) {
      expect(await defining.execute({ sql, params: [] }, runOptions()), sql).toMatchObject({ rows: [] });
    }
    const refused = [
      'CREATE DATABASE x',
      'CREATE USER x',
      'CREATE TEMPORARY TABLE x (a INT)',
      'CREATE FUNCTION f() RETURNS INT RETURN 1',
      'CREATE OR REPLACE PROCEDURE p() SELECT 1',
      'CREATE DEFINER = view@`%` PROCEDURE p() DELETE FROM counters',
      'CREATE DEFINER = tables FUNCTION f() RETURNS INT RETURN 1',
      "CREATE DEFINER = sequence@'%' EVENT e ON SCHEDULE EVERY 1 DAY DO DELETE FROM counters",
      'CREATE TRIGGER t BEFORE INSERT ON counters FOR EACH ROW SET NEW.n = 1',
      'CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO DELETE FROM counters',
      "CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (HOST 'x')",
      "CREATE TABLE x (a INT) DATA DIRECTORY = '/tmp'",
      "CREATE TABLE x (a INT) ENGINE = CONNECT TABLE_TYPE = CSV FILE_NAME = '/etc/passwd'",
      "CREATE TABLE x (a INT) ENGINE 'federated'",
      'ALTER TABLE counters DISCARD TABLESPACE',
      'ALTER USER root IDENTIFIED BY "x"',
      'DROP TABLE counters, old_table',
      'DROP DATABASE mysql',
      'CREATE VIEW v AS SELECT SLEEP(1)',
    ];
    for (const sql of refused) {
      await expect(defining.execute({ sql, params: [] }, runOptions()), sql).rejects.toMatchObject({
        code: 'STATEMENT_REFUSED',
      });
    }
  });

  verifies('B2', 'rolls back a statement that fails, and says so', async () => {
    const before = await counters();
    await expect(execute('INSERT INTO counters (id, n) VALUES (NULL, 1), (1, 1)')).rejects.toMatchObject({
      code: 'STATEMENT_FAILED',
      message: expect.stringMatching(/Duplicate entry.*rolled back/),
    });
    await expect(execute('UPDATE counters SET n = ?')).rejects.toMatchObject({ code: 'INPUT_INVALID' });
    expect(await counters()).toEqual(before);
  });

  verifies('B2', 'reports an unknown outcome when a table without transactions keeps a part', async () => {
    await expect(execute('INSERT INTO old_table VALUES (1), (2), (1)')).rejects.toMatchObject({
      code: 'OUTCOME_UNKNOWN',
    });
    expect(await bench.run('SELECT n FROM old_table')).toHaveLength(2);
  });

  verifies('B2', 'ends a change at its timeout and at a cancellation, and never commits it', async () => {
    const before = await counters();
    const sql = 'UPDATE counters SET n = (SELECT COUNT(*) FROM seq_1_to_100000000 a, seq_1_to_100000000 b)';
    await expect(database.execute({ sql, params: [] }, runOptions({ timeoutMs: 300 }))).rejects.toMatchObject({
      code: 'TIMED_OUT',
      message: expect.stringContaining('rolled back'),
    });
    const cancel = new AbortController();
    const running = database.execute({ sql, params: [] }, runOptions({ signal: cancel.signal }));
    running.catch(() => {});
    await until('the change runs', isRunning('UPDATE counters'));
    cancel.abort();
    await expect(running).rejects.toMatchObject({ code: 'CANCELLED', message: expect.stringContaining('rolled back') });
    await until('no change runs', async () => !(await isRunning('UPDATE counters')()));
    expect(await counters()).toEqual(before);
    expect(await execute('UPDATE counters SET n = n')).toMatchObject({ affectedRows: before.length });
  });

  verifies('B2', 'estimates rows for an approver without running the statement', async () => {
    const preview = (sql: string, params: readonly number[] = []) => database.preview({ sql, params }, runOptions());
    const before = await counters();
    expect(await preview('DELETE FROM counters')).toMatch(/^At most \d+ rows/);
    expect(await preview('UPDATE counters SET n = 1 WHERE id = ?', [1])).toMatch(/^At most 1 rows/);
    expect(await preview('INSERT INTO counters (n) VALUES (1)')).toMatch(/^No estimate: the database gives none/);
    expect(await preview('UPDATE counters SET n = next_price()')).toMatch(/^No estimate: it calls a stored function/);
    for (const sql of ['DELETE FROM nothing', 'UPDATE counters SET nothing = 1']) {
      await expect(preview(sql), sql).rejects.toMatchObject({ code: 'STATEMENT_FAILED' });
    }
    await expect(preview('DELETE FROM counters WHERE id = ?')).rejects.toMatchObject({ code: 'INPUT_INVALID' });
    expect(await defining.preview({ sql: 'DROP TABLE counters', params: [] }, runOptions())).toMatch(/^No estimate/);
    const plan = await database.explain({ sql: 'DELETE FROM counters', params: [] }, runOptions());
    expect(plan.rows).toHaveLength(1);
    expect(await counters()).toEqual(before);
  });

  verifies('B2', 'runs no function of a view before the approval', async () => {
    await bench.run(`CREATE TABLE calls (n INT) ENGINE = MyISAM;
      CREATE FUNCTION count_call() RETURNS INT DETERMINISTIC MODIFIES SQL DATA
        BEGIN INSERT INTO calls VALUES (1); RETURN 1; END;
      CREATE VIEW calling AS SELECT id, n FROM counters WHERE id = count_call()`);
    const sql = 'DELETE FROM calling';
    expect(await database.preview({ sql, params: [] }, runOptions())).toMatch(/^No estimate: it may use a view/);
    expect(await bench.run('SELECT * FROM calls')).toEqual([]);
  });
});
