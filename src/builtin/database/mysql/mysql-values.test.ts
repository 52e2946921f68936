import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { MEASURES } from '../../../../test/limits.ts';
import { verifies } from '../../../../test/requirements.ts';
import type { Json } from '../../../core/call.ts';
import type { Database } from '../database.ts';
import { type MysqlBench, mysqlBench, runOptions, testMariadb } from './fixtures.ts';

/** A type of MariaDB: its definition, its name in `columns`, and texts that the server prints as they are. */
interface TypeCase {
  readonly definition: string;
  readonly type: string;
  readonly texts: fc.Arbitrary<string>;
  /** The value that Heddle returns for a text. */
  readonly value: (text: string) => Json;
}

const pad = (value: number, length = 2) => String(value).padStart(length, '0');
const integers = (min: bigint, max: bigint) => fc.bigInt({ min, max }).map(String);
const asText = (text: string): Json => text;
const asNumber = (text: string): Json => Number(text);
const asExact = (text: string): Json => (Number.isSafeInteger(Number(text)) ? Number(text) : text);
const asBase64 = (hex: string): Json => Buffer.from(hex, 'hex').toString('base64');
const dates = fc
  .tuple(fc.integer({ min: 0, max: 9999 }), fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 28 }))
  .map(([year, month, day]) => `${pad(year, 4)}-${pad(month)}-${pad(day)}`);
const clocks = fc
  .tuple(fc.integer({ min: 0, max: 23 }), fc.integer({ min: 0, max: 59 }), fc.integer({ min: 0, max: 59 }))
  .map((parts) => parts.map((part) => pad(part)).join(':'));
const micros = fc.integer({ min: 0, max: 999_999 }).map((value) => pad(value, 6));
const decimals = fc
  .tuple(fc.constantFrom('', '-'), fc.bigInt({ min: 1n, max: 10n ** 30n }), fc.integer({ min: 0, max: 9_999_999_999 }))
  .map(([sign, whole, fraction]) => `${sign}${whole}.${pad(fraction, 10)}`);
const letters = fc.string({ unit: 'grapheme', maxLength: 40 }).filter((text) => !text.includes('\0'));

const documents = fc
  .array(fc.record({ key: letters, list: fc.array(fc.oneof(fc.integer(), fc.boolean(), letters, fc.constant(null))) }))
  .map((items) => JSON.stringify(items));

const CASES: readonly TypeCase[] = [
  { definition: 'TINYINT', type: 'tinyint', texts: integers(-128n, 127n), value: asNumber },
  { definition: 'SMALLINT UNSIGNED', type: 'smallint unsigned', texts: integers(0n, 65535n), value: asNumber },
  { definition: 'MEDIUMINT', type: 'mediumint', texts: integers(-8388608n, 8388607n), value: asNumber },
  { definition: 'INT UNSIGNED', type: 'int unsigned', texts: integers(0n, 4294967295n), value: asNumber },
  { definition: 'BIGINT', type: 'bigint', texts: integers(-(2n ** 63n), 2n ** 63n - 1n), value: asExact },
  { definition: 'BIGINT UNSIGNED', type: 'bigint unsigned', texts: integers(0n, 2n ** 64n - 1n), value: asExact },
  { definition: 'DECIMAL(50, 10)', type: 'decimal', texts: decimals, value: exactDecimal },
  {
    definition: 'DOUBLE',
    type: 'double',
    texts: fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
    value: asNumber,
  },
  {
    definition: 'FLOAT',
    type: 'float',
    texts: fc.integer({ min: -99_999, max: 99_999 }).map((n) => String(n / 100)),
    value: asNumber,
  },
  { definition: 'YEAR', type: 'year', texts: integers(1901n, 2155n), value: asNumber },
  { definition: 'DATE', type: 'date', texts: fc.oneof(dates, fc.constant('0000-00-00')), value: asText },
  {
    definition: 'DATETIME',
    type: 'datetime',
    texts: fc.tuple(dates, clocks).map((parts) => parts.join(' ')),
    value: asText,
  },
  {
    definition: 'DATETIME(6)',
    type: 'datetime',
    texts: fc.tuple(dates, clocks, micros).map(([d, c, m]) => `${d} ${c}.${m}`),
    value: asText,
  },
  {
    definition: 'TIME',
    type: 'time',
    texts: fc
      .tuple(fc.constantFrom('', '-'), fc.integer({ min: 1, max: 837 }), fc.integer({ min: 0, max: 59 }))
      .map(([s, h, m]) => `${s}${pad(h)}:${pad(m)}:30`),
    value: asText,
  },
  {
    definition: 'TIME(3)',
    type: 'time',
    texts: fc.tuple(clocks, fc.integer({ min: 0, max: 999 })).map(([c, m]) => `${c}.${pad(m, 3)}`),
    value: asText,
  },
  { definition: 'VARCHAR(200)', type: 'varchar', texts: letters, value: asText },
  { definition: 'LONGTEXT', type: 'longtext', texts: letters, value: asText },
  { definition: "ENUM('a', 'ü', '')", type: 'enum', texts: fc.constantFrom('a', 'ü', ''), value: asText },
  { definition: "SET('x', 'y')", type: 'set', texts: fc.constantFrom('', 'x', 'y', 'x,y'), value: asText },
  {
    definition: 'VARBINARY(100)',
    type: 'varbinary',
    texts: fc.uint8Array({ maxLength: 50 }).map((bytes) => Buffer.from(bytes).toString('hex')),
    value: asBase64,
  },
  {
    definition: 'BLOB',
    type: 'blob',
    texts: fc.uint8Array({ maxLength: 50 }).map((bytes) => Buffer.from(bytes).toString('hex')),
    value: asBase64,
  },
  { definition: 'BIT(64)', type: 'bit', texts: integers(0n, 2n ** 64n - 1n), value: asExact },
  { definition: 'UUID', type: 'uuid', texts: fc.uuid({ version: 4 }), value: asText },
  { definition: 'JSON', type: 'json', texts: documents, value: (text) => JSON.parse(text) },
];

/** A decimal keeps its value as a number, or its text. */
function exactDecimal(text: string): Json {
  const shortest = text.replace(/\.?0+$/, '');
  return String(Number(text)) === shortest ? Number(text) : text;
}

describe.skipIf(!testMariadb)('values of MariaDB', () => {
  let bench: MysqlBench;
  let database: Database;

  beforeAll(async () => {
    bench = await mysqlBench();
    await bench.run("SET sql_mode = ''");
    const columns = CASES.map(({ definition }, at) => `c${at} ${definition} NULL`);
    await bench.run(`CREATE TABLE kinds (id INT PRIMARY KEY, ${columns.join(', ')})`);
    database = await bench.open('reader');
  });
  afterAll(() => bench.remove());

  const isBytes = ({ value }: TypeCase) => value === asBase64;

  verifies('B2', `returns what another connection wrote, for ${CASES.length} types`, async () => {
    const row = fc.tuple(...CASES.map(({ texts }) => fc.option(texts, { nil: null, freq: 10 })));
    await fc.assert(
      fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 20 }), async (rows) => {
        await bench.run('DELETE FROM kinds');
        for (const [id, texts] of rows.entries()) {
          const marks = CASES.map((one) =>
            isBytes(one) ? 'UNHEX(?)' : one.type === 'bit' ? 'CAST(? AS UNSIGNED)' : '?',
          );
          await bench.run(`INSERT INTO kinds VALUES (?, ${marks.join(', ')})`, [id, ...texts]);
        }
        const read = await database.query({ sql: 'SELECT * FROM kinds ORDER BY id', params: [] }, runOptions());
        expect(read.columns.slice(1).map(({ type }) => type)).toEqual(CASES.map(({ type }) => type));
        const expected = rows.map((texts, id) => [
          id,
          ...texts.map((text, at) => (text === null ? null : CASES[at]?.value(text))),
        ]);
        expect(read.rows).toEqual(expected);
      }),
      { numRuns: MEASURES ? 200 : 5 },
    );
  });

  verifies('B2', 'keeps zero dates, long JSON numbers, geometries and other character sets', async () => {
    await bench.run(
      `CREATE TABLE odd (d DATETIME, j JSON, k JSON, g POINT, l VARCHAR(9) CHARACTER SET latin1, f FLOAT, y YEAR)`,
    );
    await bench.run(`INSERT INTO odd VALUES ('0000-00-00 00:00:00', '{"n": 12345678901234567890}', '{"n": 1.5, "m": [1]}',
      POINT(1, 2), 'é', 0.1, 0)`);
    const { columns, rows } = await database.query({ sql: 'SELECT * FROM odd', params: [] }, runOptions());
    expect(columns.map(({ type }) => type)).toEqual(['datetime', 'json', 'json', 'point', 'varchar', 'float', 'year']);
    expect(rows).toEqual([
      [
        '0000-00-00 00:00:00',
        '{"n": 12345678901234567890}',
        { n: 1.5, m: [1] },
        Buffer.from('000000000101000000000000000000f03f0000000000000040', 'hex').toString('base64'),
        'é',
        0.1,
        0,
      ],
    ]);
    const params = [1, -1.5, true, null, 'ü', '12345678901234567890', { a: 1 }];
    const echoed = await database.query({ sql: 'SELECT ?, ?, ?, ?, ?, ?, ?', params }, runOptions());
    expect(echoed.rows).toEqual([[1, -1.5, 1, null, 'ü', '12345678901234567890', '{"a":1}']]);
  });
});
