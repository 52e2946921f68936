import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import fc from 'fast-check';
import { describe, expect } from 'vitest';
import type { Json } from '../../../../src/core/call.ts';
import { verifies } from '../../../requirements.ts';
import { aShop, OPTIONS, writeDirectly } from './temporary-sqlite.ts';

const text = fc.string({ unit: 'binary', maxLength: 40 }).map((value) => value.toWellFormed());
const value = fc.oneof(
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.constantFrom(2n ** 53n, 2n ** 53n - 1n, -(2n ** 53n), 0n, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0),
  fc.double({ noNaN: true }),
  fc.oneof(text, fc.constantFrom('', '\0', 'a\0b', '\u{1f600}', '\ufeff')),
  fc.uint8Array({ maxLength: 40 }),
  fc.constant(null),
);

/** Returns the value that a caller must get: what JSON numbers cannot hold is text, bytes are base64. */
function expected(written: bigint | number | string | Uint8Array | null): Json {
  if (typeof written === 'bigint') {
    return written >= -(2n ** 53n) + 1n && written < 2n ** 53n ? Number(written) : String(written);
  }
  if (written instanceof Uint8Array) return Buffer.from(written).toString('base64');
  if (written === Number.POSITIVE_INFINITY) return 'Inf';
  if (written === Number.NEGATIVE_INFINITY) return '-Inf';
  return Object.is(written, -0) ? '-0.0' : written;
}

verifies('B2', 'SQLite: rows of every type, written by another connection, return equal', async () => {
  const { file, open } = await aShop('CREATE TABLE value (id INTEGER PRIMARY KEY, v)');
  const database = await open();
  const property = fc.asyncProperty(fc.array(value, { minLength: 1, maxLength: 100 }), async (values) => {
    const writer = new DatabaseSync(file);
    writer.exec('DELETE FROM value');
    const insert = writer.prepare('INSERT INTO value (v) VALUES (?)');
    for (const one of values) insert.run(one);
    writer.close();
    const { rows } = await database.query({ sql: 'SELECT v FROM value ORDER BY id', params: [] }, OPTIONS);
    expect(rows.map(([v]) => v)).toEqual(values.map(expected));
  });
  await fc.assert(property, { numRuns: 20 });
});

describe('SQLite parameters', () => {
  const cases: readonly (readonly [string, readonly Json[], readonly Json[]])[] = [
    ['SELECT ?, ?2, :a, @b, $c, ?', [1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6]],
    ['SELECT ?3', ['x', 'y', 'z'], ['z']],
    ['SELECT :a, :a, @a', [1, 2], [1, 1, 2]],
    ['SELECT \'?\', "id", [id], ? /* ? */ -- ?\n FROM item LIMIT 1', ['p'], ['?', 1, 1, 'p']],
    ['SELECT typeof(?), typeof(?), typeof(?), typeof(?)', [1, 1.5, true, null], ['integer', 'real', 'integer', 'null']],
    ["SELECT json_extract(?, '$.a'), ?", [{ a: [1] }, [1, 2]], ['[1]', '[1,2]']],
    ['SELECT ?, length(?)', ['a\0b', '\u{1f600}'], ['a\0b', 1]],
    ['SELECT $a::b, $a::b(x)', [1, 2], [1, 2]],
  ];
  verifies('B2', 'SQLite: values reach their parameters by number and name', async () => {
    const database = await (await aShop()).open();
    for (const [sql, params, row] of cases) {
      expect((await database.query({ sql, params }, OPTIONS)).rows).toEqual([row]);
    }
  });

  verifies('B2', 'SQLite: a wrong count of values is an error with the right count', async () => {
    const database = await (await aShop()).open();
    const fails = (sql: string, params: readonly Json[], message: RegExp) =>
      expect(database.query({ sql, params }, OPTIONS)).rejects.toThrow(message);
    await fails('SELECT ?, ?', [1], /has 2 parameters, but "params" has 1 values\. Send exactly 2\./);
    await fails('SELECT 1', [1], /has 0 parameters.*Send none\./);
    await fails('SELECT ?5', [1], /Send exactly 5\./);
    await fails('SELECT :a, :b, :a', [1, 2, 3], /Send exactly 2\./);
    await fails(`SELECT ${'?,'.repeat(40_000)}1`, Array(40_000).fill(1), /more than 32766 parameters/);
    await fails('SELECT ?99999', [1], /more than 32766 parameters/);
    await fails('SELECT ?', ['x'.repeat(17 * 1024 * 1024)], /longer than 16 MiB/);
    await fails(`SELECT '${'x'.repeat(1024 * 1024)}'`, [], /longer than 102400 bytes/);
  });
});

verifies('B2', 'SQLite: columns have their declared type, or the storage class of their values', async () => {
  const database = await (await aShop()).open();
  const sql = "SELECT id, name, price * 2 AS d, NULL AS n, 1 AS n, x'00' FROM item LIMIT 1";
  const { columns } = await database.query({ sql, params: [] }, OPTIONS);
  expect(columns).toEqual([
    ...[
      { name: 'id', type: 'INTEGER' },
      { name: 'name', type: 'TEXT' },
      { name: 'd', type: 'real' },
    ],
    ...[
      { name: 'n', type: 'null' },
      { name: 'n', type: 'integer' },
      { name: "x'00'", type: 'blob' },
    ],
  ]);
});

verifies('B2', 'SQLite: a column of a long expression has a name of at most 255 characters', async () => {
  const database = await (await aShop()).open();
  const sql = `SELECT ${'1+'.repeat(200)}1, 2 AS ${'n'.repeat(45_000)}`;
  const { columns, rows } = await database.query({ sql, params: [] }, OPTIONS);
  expect(columns.map(({ name }) => name.length)).toEqual([255, 255]);
  expect(rows).toEqual([[201, 2]]);
});

verifies('B2', 'SQLite: a result ends at the limit of rows or bytes and says so', async () => {
  const database = await (await aShop()).open();
  const count = (n: number) =>
    `WITH RECURSIVE c(x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM c LIMIT ${n}) SELECT x FROM c`;
  const read = (sql: string, limits: object) => database.query({ sql, params: [] }, { ...OPTIONS, ...limits });
  const sizeOf = async (sql: string, limits: object) => {
    const { rows, truncated } = await read(sql, limits);
    return [rows.length, truncated];
  };
  expect(await sizeOf(count(10), { maxRows: 10 })).toEqual([10, false]);
  expect(await sizeOf(count(11), { maxRows: 10 })).toEqual([10, true]);
  expect(await sizeOf('SELECT 1', { maxRows: 1, maxBytes: 3 })).toEqual([1, false]);
  expect(await sizeOf('SELECT 12', { maxBytes: 3 })).toEqual([0, true]);
  expect(await sizeOf('SELECT zeroblob(9000000)', {})).toEqual([0, true]);
  expect(await sizeOf("SELECT replace(hex(zeroblob(500000)), '0', char(1))", {})).toEqual([0, true]);
  const { rows, truncated } = await read(count(5e9).replace('SELECT x FROM', 'SELECT hex(zeroblob(5000)) FROM'), {
    maxRows: 1e6,
  });
  expect([rows.length > 400, truncated]).toEqual([true, true]);
  expect(Buffer.byteLength(JSON.stringify(rows))).toBeLessThanOrEqual(OPTIONS.maxBytes + 2);
});

verifies('B2', 'SQLite: an error names the position of the wrong or refused word', async () => {
  const database = await (await aShop()).open();
  const fails = (sql: string, message: string) =>
    expect(database.query({ sql, params: [] }, OPTIONS)).rejects.toThrow(message);
  await fails('SELECT * FORM item', 'near "FORM": syntax error at position 10.');
  await fails("SELECT 'FORM', form FORM, x y z FORM item", 'near "z": syntax error at position 31.');
  await fails('SELECT name, nope FROM item', 'no such column: nope at position 14.');
  await fails('SELECT * FROM  nope', 'no such table: nope at position 16.');
  await fails('SELECT nope(1)', 'no such function: nope at position 8.');
  await fails('SELECT (1', 'incomplete input.');
  await fails(
    'SELECT 1,  Load_Extension(name) FROM item',
    'The function "load_extension" at position 12 is not permitted.',
  );
  await fails(
    '  DELETE FROM item',
    'DELETE at position 3 is not permitted on the connection "shop", whose access is "read".',
  );
  await fails('PRAGMA user_version = 1', 'A value of PRAGMA "user_version" at position 8 is not permitted.');
  await fails('PRAGMA journal_mode', 'PRAGMA "journal_mode" at position 8 is not permitted.');
  await fails('SELECT 1; SELECT 2', 'A second statement begins at position 11.');
});

verifies('B2', 'SQLite: a file that is no readable database is an error without its path', async () => {
  const { folder, open } = await aShop();
  const at = (name: string) => join(folder, name);
  mkdirSync(at('folder'));
  execFileSync('mkfifo', [at('pipe')]);
  writeFileSync(at('text'), 'no database '.repeat(1000));
  writeFileSync(at('encrypted'), Buffer.from(Array.from({ length: 8192 }, (_, index) => (index * 7919) % 251)));
  writeFileSync(at('torn'), Buffer.concat([Buffer.from('SQLite format 3\0'), Buffer.alloc(4080, 7)]));
  const reasons: readonly (readonly [string, RegExp])[] = [
    ...([
      [at('missing'), /does not exist/],
      [at('text/deeper'), /does not exist/],
    ] as const),
    ...([
      [at('folder'), /folder, a device or a pipe/],
      [at('pipe'), /folder, a device or a pipe/],
    ] as const),
    ...([
      ['/dev/zero', /folder, a device or a pipe/],
      [at('text'), /not an SQLite database, or it is encrypted/],
    ] as const),
    ...([
      [at('encrypted'), /not an SQLite database, or it is encrypted/],
      ['shop.db', /absolute path/],
    ] as const),
    ...([
      [':memory:', /absolute path/],
      ['', /absolute path/],
      [at('torn'), /not an SQLite database|damaged/],
    ] as const),
  ];
  await Promise.all(
    reasons.map(async ([file, reason]) => {
      const failure = await open({ database: file }).catch((error: Error) => error);
      expect(failure).toMatchObject({ name: 'DatabaseFailure', message: expect.stringMatching(reason) });
      expect((failure as Error).message).not.toContain(folder);
    }),
  );
  expect(
    await (await open({ url: `sqlite://${at('shop.db')}`, database: '' })).listTables(undefined, OPTIONS),
  ).toHaveLength(9);
});

verifies('B2', 'SQLite: a file that appears, is replaced or is deleted needs no new connection', async () => {
  const { file, open } = await aShop();
  const database = await open();
  const count = async () =>
    (await database.query({ sql: 'SELECT count(*) FROM item', params: [] }, OPTIONS)).rows[0]?.[0];
  expect(await count()).toBe(3);
  execFileSync('rm', [file]);
  await expect(count()).rejects.toThrow(/does not exist/);
  writeDirectly(file, 'CREATE TABLE item (a); INSERT INTO item VALUES (1)');
  expect(await count()).toBe(1);
});

verifies('B2', 'SQLite: tables, views and columns are described, and plans are shown', async () => {
  const { open } = await aShop();
  const database = await open({ access: 'readwrite' });
  const tables = await database.listTables('main', OPTIONS);
  expect(tables.map(({ table_name, table_type }) => `${table_name} ${table_type}`)).toEqual([
    ...[
      'area table',
      'box table',
      'counter table',
      'document table',
      'item table',
      'note table',
      'old table',
      'revenue view',
      'sale table',
    ],
  ]);
  expect(await database.listTables('other', OPTIONS)).toEqual([]);
  expect(await database.describeTable({ table: 'ITEM', schema: 'main' }, OPTIONS)).toEqual([
    { column_name: 'id', data_type: 'INTEGER', is_nullable: false, column_default: null },
    { column_name: 'name', data_type: 'TEXT', is_nullable: false, column_default: null },
    { column_name: 'price', data_type: 'REAL', is_nullable: true, column_default: '1.5' },
    { column_name: 'delete', data_type: 'INTEGER', is_nullable: true, column_default: null },
  ]);
  expect(await database.describeTable({ table: 'revenue' }, OPTIONS)).toHaveLength(2);
  for (const table of ['nope', 'note_data', "item') --", '']) {
    expect(await database.describeTable({ table }, OPTIONS)).toBeUndefined();
  }
  const plan = await database.explain({ sql: 'SELECT * FROM sale WHERE day = ?', params: ['x'] }, OPTIONS);
  expect(plan.rows[0]?.[3]).toMatch(/USING INDEX sale_day/);
  const statement = { sql: 'UPDATE item SET name = ? WHERE id = ?', params: ['x', 1] };
  expect((await database.explain(statement, OPTIONS)).rows[0]?.[3]).toMatch(/INTEGER PRIMARY KEY/);
  expect(await database.preview(statement, OPTIONS)).toBe(
    'no estimate: SQLite does not estimate rows.\nPlan:\n  SEARCH item USING INTEGER PRIMARY KEY (rowid=?)',
  );
});
