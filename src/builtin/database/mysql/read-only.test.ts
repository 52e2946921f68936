import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import {
  MYSQL_ATTACKS,
  MYSQL_PRIVILEGED_QUERIES,
  MYSQL_QUERIES,
} from '../../../../test/builtin/database/mysql-statements.ts';
import { verifies } from '../../../../test/requirements.ts';
import { until } from '../../../../test/until.ts';
import type { Database } from '../database.ts';
import { type MysqlBench, mysqlBench, runOptions, testMariadb } from './fixtures.ts';

describe.skipIf(!testMariadb)('a MariaDB connection with access "read"', () => {
  let bench: MysqlBench;
  /** The connection of root: only Heddle stands between a statement and the server. */
  let database: Database;
  let reader: Database;
  const files = `/tmp/heddle-attack-${process.pid}-`;

  beforeAll(async () => {
    bench = await mysqlBench();
    await bench.run(`CREATE TABLE orders (id INT PRIMARY KEY AUTO_INCREMENT, customer VARCHAR(20), total DECIMAL(10, 2),
        placed DATETIME, tags JSON, \`delete\` INT DEFAULT 0, note TEXT, FULLTEXT (note)) ENGINE = InnoDB;
      INSERT INTO orders (customer, total, placed, tags, note) VALUES
        ('ada', 10.50, '2026-01-02 03:04:05', '{"a": [1, 2]}', 'red apples'),
        ('ada', 20.00, '2026-02-02 03:04:05', '{"a": [3]}', 'green pears'),
        ('bob', 5.25, '2026-02-03 03:04:05', '{"b": null}', 'red pears');
      CREATE SEQUENCE numbers;
      CREATE TABLE secrets (n INT);
      CREATE FUNCTION takes_lock() RETURNS INT RETURN GET_LOCK('${bench.schema}', 0);
      CREATE TABLE counted (a INT DEFAULT NEXTVAL(numbers), b INT);
      CREATE FUNCTION writes_log() RETURNS INT DETERMINISTIC MODIFIES SQL DATA BEGIN INSERT INTO log VALUES (1); RETURN 1; END;
      CREATE TABLE log (n INT) ENGINE = MyISAM;
      CREATE VIEW locking AS SELECT id FROM orders WHERE id = writes_log();
      CREATE VIEW big AS SELECT customer, SUM(total) AS total FROM orders GROUP BY customer`);
    database = await bench.open('root');
    reader = await bench.open('reader');
  });
  afterAll(() => bench.remove());

  /** Everything that an attack could change: rows, sequences, files, locks, global settings, schemas and users. */
  async function state() {
    const [{ datadir } = {}] = await bench.run('SELECT @@datadir AS datadir');
    return {
      tables: await bench.run('CHECKSUM TABLE orders, secrets, log, counted'),
      names: await bench.run('SHOW TABLES'),
      sequence: await bench.run('SELECT * FROM numbers'),
      lock: await bench.run(`SELECT IS_FREE_LOCK('${bench.schema}') AS free`),
      settings: await bench.run(
        "SHOW GLOBAL VARIABLES WHERE Variable_name NOT LIKE '%timestamp%' AND Variable_name NOT LIKE '%gtid%'",
      ),
      users: await bench.run('SELECT COUNT(*) AS n FROM mysql.global_priv WHERE User LIKE ?', [`${bench.schema}%`]),
      routines: await bench.run(
        'SELECT ROUTINE_NAME FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = DATABASE()',
      ),
      files: readdirSync(join(String(datadir), bench.schema)).sort(),
      temporary: readdirSync('/tmp').filter((name) => files.endsWith(name) || join('/tmp', name).startsWith(files)),
    };
  }

  verifies('B2', `refuses ${MYSQL_ATTACKS.length} attacks, and nothing at the server changes`, async () => {
    expect(MYSQL_ATTACKS.length).toBeGreaterThanOrEqual(70);
    const before = await state();
    const passed: string[] = [];
    for (const [at, attack] of MYSQL_ATTACKS.entries()) {
      const sql = attack.replaceAll('{file}', `${files}${at}`).replaceAll('{schema}', bench.schema);
      const outcome = await database.query({ sql, params: [] }, runOptions()).then(
        () => 'ran',
        (error: Error & { code: string }) => error.code,
      );
      if (outcome !== 'STATEMENT_REFUSED') passed.push(`${sql.slice(0, 100)}: ${outcome}`);
    }
    expect(passed).toEqual([]);
    expect(await state()).toEqual(before);
  });

  verifies('B2', `runs ${MYSQL_QUERIES.length} analytic queries`, async () => {
    expect(MYSQL_QUERIES.length).toBeGreaterThanOrEqual(30);
    const failed: string[] = [];
    for (const sql of MYSQL_QUERIES) {
      await reader
        .query({ sql, params: [] }, runOptions())
        .catch((error: Error) => failed.push(`${sql}: ${error.message}`));
    }
    expect(failed).toEqual([]);
  });

  verifies(
    'B2',
    'refuses a stored function with the name of a keyword or of a function that the server lacks',
    async () => {
      const names = ['rollup', 'columns', 'bin_to_uuid', 'is_uuid', 'any_value'];
      const calls = names.map((name) => `SELECT ${name}(1)`);
      const lock = `RETURNS INT RETURN GET_LOCK('${bench.schema}', 0)`;
      for (const name of names) await bench.run(`CREATE FUNCTION \`${name}\`(n INT) ${lock}`);
      const outcome = (from: Database, sql: string) =>
        from.query({ sql, params: [] }, runOptions()).then(
          () => 'ran',
          (error: Error & { code: string }) => error.code,
        );
      for (const role of ['root', 'reader'] as const) {
        const fresh = await bench.open(role);
        const outcomes = [];
        for (const sql of calls) outcomes.push(await outcome(fresh, sql));
        expect(outcomes).toEqual(calls.map(() => 'STATEMENT_REFUSED'));
        expect(await outcome(fresh, "SELECT CONCAT('a'), COUNT(*) FROM orders WHERE id IN (1)")).toBe('ran');
      }
      const trusting = await bench.open('reader', { allowFunctions: ['is_uuid'] });
      expect(await outcome(trusting, 'SELECT is_uuid(1)')).toBe('ran');
      for (const name of names) await bench.run(`DROP FUNCTION \`${name}\``);
    },
  );

  verifies('B2', 'refuses by its transaction alone what the check has not seen', async () => {
    // The view and the function are the operator's own. Their names tell nothing.
    const trusting = await bench.open('root', { allowFunctions: ['writes_row'] });
    await bench.run(`CREATE FUNCTION writes_row() RETURNS INT MODIFIES SQL DATA
      BEGIN INSERT INTO secrets VALUES (1); RETURN 1; END`);
    const before = await state();
    await expect(trusting.query({ sql: 'SELECT writes_row()', params: [] }, runOptions())).rejects.toMatchObject({
      code: 'STATEMENT_FAILED',
      message: expect.stringContaining('READ ONLY transaction'),
    });
    expect(await state()).toEqual(before);
  });

  verifies('B2', 'leaves no lock, variable or setting on a connection for the next call', async () => {
    const trusting = await bench.open('root', { allowFunctions: ['takes_lock'] });
    const read = async (sql: string) => (await trusting.query({ sql, params: [] }, runOptions())).rows;
    const [first] = await read('SELECT CONNECTION_ID(), takes_lock(), @@sql_mode');
    await until('the lock is free', async () => {
      const [found] = await bench.run(`SELECT IS_FREE_LOCK('${bench.schema}') AS free`);
      return found?.free === 1;
    });
    const rows: (readonly unknown[])[] = [];
    for (let round = 0; round < 8; round++) {
      rows.push(...(await read('SELECT CONNECTION_ID(), LAST_INSERT_ID(), @@sql_mode')));
    }
    expect(rows.every((row) => row[1] === 0 && row[2] === first?.[2])).toBe(true);
    expect(rows.map(([id]) => id)).toContain(first?.[0]);
  });

  verifies('B2', 'sends one statement by protocol alone, and no file of this machine', async () => {
    const { MysqlSession } = await import('./mysql-session.ts');
    const { loadMysql } = await import('./load-mysql.ts');
    const { readMysqlAddress } = await import('./mysql-address.ts');
    const driver = await loadMysql('shop');
    const session = await MysqlSession.open(
      driver,
      readMysqlAddress(bench.connection('root')),
      new AbortController().signal,
    );
    const limits = { maxRows: 1, maxBytes: 100, endsAtLimit: false, allowsText: true };
    try {
      for (const sql of ['SELECT 1; SELECT 2', "LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE secrets"]) {
        await expect(session.execute({ sql, params: [] }, limits)).rejects.toThrow(/syntax|not allowed|disabled|used/i);
        await expect(session.run(sql)).rejects.toThrow(/syntax|not allowed|disabled|used/i);
      }
    } finally {
      session.destroy();
    }
    expect(await bench.run('SELECT * FROM secrets')).toEqual([]);
  });

  verifies('B2', 'ends after the rows and the bytes of a call, and says so', async () => {
    const read = (sql: string, changes: Parameters<typeof runOptions>[0]) =>
      database.query({ sql, params: [] }, runOptions(changes));
    const all = await read('SELECT seq FROM seq_1_to_5', { maxRows: 5 });
    expect(all).toMatchObject({ rows: [[1], [2], [3], [4], [5]], truncated: false });
    expect(await read('SELECT seq FROM seq_1_to_1000000', { maxRows: 2 })).toMatchObject({
      rows: [[1], [2]],
      truncated: true,
    });
    // The server's own limit does not apply to a statement with a LIMIT.
    const limited = await read('SELECT seq FROM seq_1_to_1000000 LIMIT 900000', { maxRows: 3 });
    expect(limited).toMatchObject({ rows: [[1], [2], [3]], truncated: true });
    const bytes = await read("SELECT REPEAT('x', 1000) FROM seq_1_to_100000 LIMIT 90000", { maxBytes: 10_000 });
    expect(bytes.truncated).toBe(true);
    expect(bytes.rows.length).toBe(9);
  });

  verifies('B2', 'lists tables and views, and describes columns', async () => {
    const entries = await reader.listTables(undefined, runOptions());
    expect(entries).toEqual([
      { table_schema: bench.schema, table_name: 'big', table_type: 'view' },
      { table_schema: bench.schema, table_name: 'counted', table_type: 'table' },
      { table_schema: bench.schema, table_name: 'locking', table_type: 'view' },
      { table_schema: bench.schema, table_name: 'log', table_type: 'table' },
      { table_schema: bench.schema, table_name: 'orders', table_type: 'table' },
      { table_schema: bench.schema, table_name: 'secrets', table_type: 'table' },
    ]);
    expect(await reader.listTables('nowhere', runOptions())).toEqual([]);
    const columns = await reader.describeTable({ table: 'orders' }, runOptions());
    expect(columns?.slice(0, 3)).toEqual([
      { column_name: 'id', data_type: 'int(11)', is_nullable: false, column_default: null },
      { column_name: 'customer', data_type: 'varchar(20)', is_nullable: true, column_default: null },
      { column_name: 'total', data_type: 'decimal(10,2)', is_nullable: true, column_default: null },
    ]);
    expect(await reader.describeTable({ schema: bench.schema, table: 'nothing' }, runOptions())).toBeUndefined();
  });

  verifies('B2', 'plans changes and shows the state of the server, and nothing changes', async () => {
    const before = await state();
    const failed: string[] = [];
    for (const one of MYSQL_PRIVILEGED_QUERIES) {
      const sql = one.replaceAll('{schema}', bench.schema);
      await database
        .query({ sql, params: [] }, runOptions())
        .catch((error: Error) => failed.push(`${sql}: ${error.message}`));
    }
    expect(failed).toEqual([]);
    const plan = (sql: string, params: readonly number[] = []) => database.explain({ sql, params }, runOptions());
    expect((await plan('DELETE FROM orders WHERE id = ?', [1])).columns.map(({ name }) => name)).toContain(
      'possible_keys',
    );
    expect((await plan('INSERT INTO secrets SELECT id FROM orders')).rows).toHaveLength(1);
    for (const sql of MYSQL_ATTACKS) {
      await plan(sql.replaceAll('{file}', files).replaceAll('{schema}', bench.schema)).catch(() => {});
    }
    await expect(plan('DELETE FROM locking')).rejects.toThrow('may use a view, whose functions EXPLAIN may run');
    await expect(plan('DELETE FROM orders WHERE id = takes_lock()')).rejects.toThrow('which EXPLAIN may run');
    expect(await state()).toEqual(before);
  });

  verifies('B2', 'explains a statement that reads or changes rows with its values, and no other', async () => {
    const plan = await reader.explain({ sql: 'SELECT * FROM orders WHERE id = ?', params: [1] }, runOptions());
    expect(plan.columns.map(({ name }) => name)).toContain('possible_keys');
    await expect(reader.explain({ sql: 'DELETE FROM orders', params: [] }, runOptions())).rejects.toMatchObject({
      code: 'STATEMENT_FAILED',
      message: expect.stringContaining('DELETE command denied'),
    });
    for (const sql of ['SHOW TABLES', 'EXPLAIN SELECT 1', 'CREATE TABLE x (a INT)']) {
      await expect(reader.explain({ sql, params: [] }, runOptions())).rejects.toMatchObject({
        code: 'STATEMENT_REFUSED',
      });
    }
  });

  verifies('B2', 'reports the right count of params, and hides accounts in messages of the server', async () => {
    await expect(reader.query({ sql: 'SELECT ?, ?', params: [1] }, runOptions())).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      message: 'The statement has 2 parameters, and params has 1 values. Send 2.',
    });
    await expect(reader.query({ sql: 'SELECT * FROM mysql.user', params: [] }, runOptions())).rejects.toMatchObject({
      code: 'STATEMENT_FAILED',
      message: expect.not.stringContaining(bench.schema),
    });
    await expect(reader.query({ sql: 'SELECT * FORM orders', params: [] }, runOptions())).rejects.toMatchObject({
      code: 'STATEMENT_FAILED',
      message: expect.stringMatching(/near .*orders.* at line 1/),
    });
    const many = Array.from({ length: 40_000 }, () => 1);
    await expect(reader.query({ sql: 'SELECT 1', params: many }, runOptions())).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      message: 'The statement has 0 parameters, and params has 40000 values. Send 0.',
    });
    expect(await reader.query({ sql: 'SELECT ? LIMIT ?', params: [true, 1] }, runOptions())).toMatchObject({
      rows: [[1]],
    });
  });

  verifies('B2', 'refuses a user with FILE, SUPER or similar unless allowPrivilegedRole', async () => {
    await expect(bench.open('root', { allowPrivilegedRole: false })).rejects.toMatchObject({
      code: 'CONNECTION_FAILED',
      message: expect.stringContaining('ALL PRIVILEGES'),
    });
    expect(database.warnings).toHaveLength(2);
    expect(reader.warnings).toEqual([]);
    expect((await bench.open('writer')).warnings).toEqual([expect.stringContaining('can write')]);
    expect((await bench.open('writer', { access: 'readwrite' })).warnings).toEqual([]);
    await bench.run(`CREATE ROLE ${bench.schema}_role; GRANT FILE ON *.* TO ${bench.schema}_role;
      GRANT ${bench.schema}_role TO ${bench.schema}_r@'%'; SET DEFAULT ROLE ${bench.schema}_role FOR ${bench.schema}_r@'%'`);
    try {
      await expect(bench.open('reader')).rejects.toThrow(/FILE/);
    } finally {
      await bench.run(`DROP ROLE ${bench.schema}_role`);
    }
  });

  verifies('B2', 'names no address, user or password when it cannot connect', async () => {
    const wrong = bench.connection('reader', { url: bench.url('reader').replace(bench.password, 'wrong-password') });
    const failures = await Promise.all(
      [
        wrong.url,
        'mysql://secretuser:secretpassword@127.0.0.1:1/x',
        'mysql://u:p@no-such-host.invalid/x',
        'nonsense',
      ].map((url) => bench.open('reader', { url: url ?? '' }).catch((error: Error) => error.message)),
    );
    expect(failures.every((message) => String(message).startsWith('The connection "shop" '))).toBe(true);
    expect(failures.join()).not.toMatch(/secret|wrong-password|127\.0\.0\.1|invalid|_r/);
  });
});
