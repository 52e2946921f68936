import { execFile, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setImmediate as turn } from 'node:timers/promises';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished } from 'vitest';
import type { Database } from '../../../../src/builtin/database/database.ts';
import { DatabaseFailure } from '../../../../src/builtin/database/database-failure.ts';
import { killAll } from '../../../alive.ts';
import { MEASURES } from '../../../limits.ts';
import { verifies } from '../../../requirements.ts';
import { temporaryFolder } from '../../../temporary-heddle.ts';
import { ATTACKS } from './attacks.ts';
import { aShop, fingerprintOf, OPTIONS, readDirectly, writeDirectly } from './temporary-sqlite.ts';

const WRITABLE = { access: 'readwrite' } as const;
const run = (database: Database, sql: string, limits = {}) =>
  database.execute({ sql, params: [] }, { ...OPTIONS, ...limits });

verifies('B2', 'SQLite: a write is committed and counts its rows', async () => {
  const { file, open } = await aShop();
  const database = await open(WRITABLE);
  const statement = { sql: 'UPDATE item SET price = price + ? WHERE id < :most', params: [1, 3] };
  expect(await database.execute(statement, OPTIONS)).toEqual({
    affectedRows: 2,
    columns: [],
    rows: [],
    truncated: false,
  });
  expect(readDirectly(file, 'SELECT sum(price) AS sum FROM item')).toEqual({ sum: 31.75 });
  expect((await run(database, 'DELETE FROM sale WHERE id > 100')).affectedRows).toBe(0);
  expect((await run(database, "REPLACE INTO item VALUES (3, 'jug', 1, 0)")).affectedRows).toBe(1);
  expect(
    (await run(database, "WITH x AS (SELECT 'a' AS a) INSERT INTO item (name) SELECT a FROM x")).affectedRows,
  ).toBe(1);
  expect((await run(database, "INSERT INTO note VALUES ('third', 'word')")).affectedRows).toBe(1);
});

verifies('B2', 'SQLite: the limit truncates the rows of RETURNING, not the write', async () => {
  const { file, open } = await aShop();
  const database = await open(WRITABLE);
  const sql =
    'WITH RECURSIVE c(x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM c LIMIT 100) INSERT INTO counter SELECT x FROM c RETURNING n';
  const { affectedRows, rows, truncated, columns } = await run(database, sql, { maxRows: 3 });
  expect({ affectedRows, rows, truncated, columns }).toEqual({
    ...{ affectedRows: 100, rows: [[1], [2], [3]], truncated: true, columns: [{ name: 'n', type: 'INTEGER' }] },
  });
  expect(readDirectly(file, 'SELECT count(*) AS count FROM counter')).toEqual({ count: 101 });
});

verifies('B2', 'SQLite: a failed write leaves the file as it was', async () => {
  const { file, folder, open } = await aShop();
  writeDirectly(file, 'CREATE TABLE late (item REFERENCES item (id) DEFERRABLE INITIALLY DEFERRED)');
  const before = fingerprintOf(folder);
  const database = await open(WRITABLE);
  await expect(run(database, "INSERT INTO item (id, name) VALUES (8, 'a'), (1, 'b')")).rejects.toThrow(/UNIQUE/);
  await expect(run(database, 'INSERT INTO late VALUES (99)')).rejects.toMatchObject({ code: 'STATEMENT_FAILED' });
  await expect(run(database, 'UPDATE item SET nope = 1')).rejects.toThrow(/no such column: nope at position 17/);
  expect(fingerprintOf(folder)).toEqual(before);
});

describe('SQLite writes', () => {
  const DDL = [
    ...[
      'CREATE TABLE made (a INTEGER, b)',
      'CREATE UNIQUE INDEX made_a ON made (a)',
      'ALTER TABLE made ADD c DEFAULT 1 CHECK (c > 0)',
    ],
    ...[
      'ALTER TABLE made RENAME TO renamed',
      'ALTER TABLE renamed RENAME COLUMN b TO d',
      'ALTER TABLE renamed DROP COLUMN d',
    ],
    ...['CREATE VIEW seen AS SELECT * FROM renamed', 'CREATE TABLE copied AS SELECT * FROM item', 'DROP VIEW seen'],
    ...[
      'DROP INDEX made_a',
      'DROP TABLE renamed',
      'DROP TABLE copied',
      'DROP TABLE sale',
      'DROP TABLE note',
      'DROP TABLE box',
    ],
  ];

  verifies('B2', 'SQLite: definitions need allowDdl', async () => {
    const { folder, file, open } = await aShop();
    const before = fingerprintOf(folder);
    const strict = await open(WRITABLE);
    for (const sql of DDL) {
      await expect(run(strict, sql)).rejects.toMatchObject({ code: 'STATEMENT_REFUSED' });
    }
    expect(fingerprintOf(folder)).toEqual(before);
    const database = await open({ ...WRITABLE, allowDdl: true });
    for (const sql of DDL) {
      await expect(run(database, sql)).resolves.toEqual({ affectedRows: 0, columns: [], rows: [], truncated: false });
    }
    expect(
      readDirectly(file, "SELECT count(*) AS n FROM sqlite_schema WHERE name IN ('renamed', 'sale', 'note')"),
    ).toEqual({ n: 0 });
  });

  verifies(
    'B2',
    'SQLite: a definition that has nothing to do succeeds, and one with a forbidden function has no preview',
    async () => {
      const { open } = await aShop();
      const database = await open({ ...WRITABLE, allowDdl: true });
      for (const sql of [
        'DROP TABLE IF EXISTS absent',
        'CREATE TABLE IF NOT EXISTS item (a)',
        'CREATE TABLE edit (a)',
      ]) {
        await expect(run(database, sql)).resolves.toMatchObject({ affectedRows: 0 });
      }
      for (const call of ['load_extension(a)', '"Load_Extension" (a)', '[readfile](a)', 'a > eval /* */ (a)']) {
        const preview = database.preview({ sql: `CREATE TABLE y (a CHECK (${call}))`, params: [] }, OPTIONS);
        await expect(preview, call).rejects.toMatchObject({ code: 'STATEMENT_REFUSED' });
      }
    },
  );

  verifies('B2', 'SQLite: no attack changes more than the rows of tables, even with allowDdl', async () => {
    const { folder, file, open } = await aShop();
    writeDirectly(file, "CREATE TRIGGER evil AFTER UPDATE ON counter BEGIN SELECT load_extension('x'); END");
    const before = fingerprintOf(folder);
    const database = await open({ ...WRITABLE, allowDdl: true });
    const refused = [
      ...ATTACKS.filter(
        (sql) => !/^(?:INSERT|REPLACE|UPDATE|DELETE|WITH|CREATE (?:TABLE|INDEX|VIEW)|ALTER|DROP)/.test(sql),
      ),
      ...ATTACKS.filter((sql) => /sqlite_|note_data|\0|\ud800|WITH x AS \(DELETE/.test(sql)),
      ...[
        'CREATE TRIGGER x AFTER INSERT ON item BEGIN DELETE FROM sale; END',
        'DROP TRIGGER evil',
        'UPDATE counter SET n = 1',
      ],
      ...[
        'CREATE TABLE x (a, b AS (load_extension(a)))',
        'SELECT 1',
        'WITH x AS (SELECT 1) SELECT * FROM x',
        'VALUES (1)',
      ],
      ...[
        'CREATE TABLE temp.x (a)',
        "INSERT INTO item (name) VALUES (load_extension('x'))",
        'INSERT INTO item (name) VALUES (fts3_tokenizer(1))',
      ],
      ...['CREATE TABLE sqlite_x (a)', 'DELETE FROM item; COMMIT', 'DELETE FROM item; DELETE FROM sale'],
    ];
    for (const sql of refused) {
      const outcome = await run(database, sql).catch((error: DatabaseFailure) => error.code);
      expect([sql, outcome]).toEqual([
        sql,
        expect.stringMatching(/^(?:STATEMENT_REFUSED|STATEMENT_FAILED|INPUT_INVALID)$/),
      ]);
    }
    expect(fingerprintOf(folder)).toEqual(before);
  });

  verifies('B2', 'SQLite: a preview checks the statement and changes nothing', async () => {
    const { folder, open } = await aShop();
    const before = fingerprintOf(folder);
    const database = await open(WRITABLE);
    const preview = (sql: string) => database.preview({ sql, params: [] }, OPTIONS);
    for (const sql of [
      'SELECT 1',
      'DROP TABLE item',
      'DELETE FROM item; DELETE FROM sale',
      'DELETE FROM sqlite_schema',
    ]) {
      await expect(preview(sql)).rejects.toThrow(DatabaseFailure);
    }
    await expect(preview('DELETE FROM nope')).rejects.toThrow(/no such table: nope at position 13/);
    expect(await preview("INSERT INTO item (name) VALUES ('x')")).toMatch(/^no estimate/);
    const reader = await open();
    await expect(run(reader, 'DELETE FROM item')).rejects.toThrow(
      /whose access is "read"\. Use a connection with access "readwrite"/,
    );
    expect(fingerprintOf(folder)).toEqual(before);
  });
});

verifies('B2', 'SQLite: a locked database is an error, and nothing is written', async () => {
  const { file, open } = await aShop();
  const database = await open(WRITABLE);
  const writer = new DatabaseSync(file);
  onTestFinished(() => writer.close());
  writer.exec('BEGIN EXCLUSIVE');
  const limits = { ...OPTIONS, timeoutMs: 2000 };
  // On a slow machine the timeout may come first.
  const locked = /holds a lock|took longer/;
  await Promise.all([
    expect(run(database, 'UPDATE counter SET n = 7', limits)).rejects.toThrow(locked),
    expect(database.query({ sql: 'SELECT n FROM counter', params: [] }, limits)).rejects.toThrow(locked),
  ]);
  writer.exec('ROLLBACK');
  expect((await run(database, 'UPDATE counter SET n = n + 1')).affectedRows).toBe(1);
  expect(readDirectly(file, 'SELECT n FROM counter')).toEqual({ n: 1 });
});

verifies('B2', 'SQLite: changes that a killed writer left are rolled back by a writable connection only', async () => {
  const { file, open } = await aShop();
  const program = `const { DatabaseSync } = require('node:sqlite');
    const database = new DatabaseSync(${JSON.stringify(file)});
    database.exec('PRAGMA cache_size = 1; BEGIN IMMEDIATE; WITH RECURSIVE c(x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM c LIMIT 20000) INSERT INTO counter SELECT x FROM c');
    process.kill(process.pid, 'SIGKILL');`;
  expect(spawnSync(process.execPath, ['-e', program]).signal).toBe('SIGKILL');
  await expect(open()).rejects.toThrow(/left changes in a side file/);
  const database = await open(WRITABLE);
  expect((await database.query({ sql: 'SELECT count(*) FROM counter', params: [] }, OPTIONS)).rows).toEqual([[1]]);
});

// For each of two journal modes.
const KILLS = MEASURES ? 500 : 8;

describe.each(['DELETE', 'WAL'])('SQLite with journal_mode %s', (mode) => {
  const aCounter = () =>
    aShop(`PRAGMA journal_mode = ${mode}; CREATE TABLE counter (n INTEGER); INSERT INTO counter VALUES (0)`);
  const add = (database: Database) => run(database, 'UPDATE counter SET n = n + 1');

  verifies('B2', 'SQLite: a write leaves no side file', async () => {
    const { folder, open } = await aCounter();
    const database = await open(WRITABLE);
    expect((await add(database)).affectedRows).toBe(1);
    expect((await database.query({ sql: 'SELECT n FROM counter', params: [] }, OPTIONS)).rows).toEqual([[1]]);
    expect(Object.keys(fingerprintOf(folder))).toEqual(['shop.db']);
  });

  verifies(
    'B2',
    `SQLite: with the child killed at ${KILLS} moments a success adds one, a known error nothing`,
    async () => {
      const { file, open, children } = await aCounter();
      const database = await open(WRITABLE);
      let isDone = false;
      let turns = 0;
      const first = add(database).finally(() => {
        isDone = true;
      });
      for (; !isDone; turns++) await turn();
      await first;
      for (let kill = 0, expected = 1; kill < KILLS; kill++) {
        const pids = children();
        const outcome = add(database).then(
          () => 'added',
          (error: DatabaseFailure) => error.code,
        );
        for (let left = Math.floor(Math.random() * turns * 1.5); left > 0; left--) await turn();
        killAll(pids);
        const code = await outcome;
        const { n } = readDirectly(file, 'SELECT n FROM counter') as { n: number };
        if (code === 'OUTCOME_UNKNOWN') expect([expected, expected + 1]).toContain(n);
        else expect([code, n]).toEqual(code === 'added' ? [code, expected + 1] : ['CONNECTION_FAILED', expected]);
        expected = n;
      }
    },
    600_000,
  );
});

const PROGRAM = join(import.meta.dirname, 'full-tmpfs-program.ts');
const MOUNT = 'mount -t tmpfs -o size=1m heddle "$1" && exec "$2" "$3" "$1"';

describe.runIf(process.platform === 'linux')('SQLite on a full disk', () => {
  verifies(
    'B2',
    'SQLite: a write to a full disk is rolled back with the reason, and works again with space',
    async () => {
      const disk = await temporaryFolder();
      const args = ['--user', '--map-root-user', '--mount', 'sh', '-c', MOUNT, 'sh', disk, process.execPath, PROGRAM];
      const { stdout } = await promisify(execFile)('unshare', args);
      expect(JSON.parse(stdout)).toEqual({
        full: expect.stringMatching(/^STATEMENT_FAILED .*disk is full/),
        rows: [[1]],
        freed: 1,
      });
    },
  );
});
