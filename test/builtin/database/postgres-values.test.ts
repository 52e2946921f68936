import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import type { Database } from '../../../src/builtin/database/database.ts';
import { openPostgresDatabase } from '../../../src/builtin/database/postgres/open-postgres-database.ts';
import type { Json } from '../../../src/core/call.ts';
import { MEASURES } from '../../limits.ts';
import { verifies } from '../../requirements.ts';
import { createPostgresFixture, type PostgresFixture, runOptions, testPostgresServer } from './postgres-fixture.ts';

const never = new AbortController().signal;
const digits = (max: number) => fc.stringMatching(new RegExp(`^[1-9][0-9]{0,${max}}$`));
const noNul = fc.string({ unit: 'binary' }).filter((text) => !text.includes('\0') && text.isWellFormed());
const moment = fc
  .date({ min: new Date(0), max: new Date('2100-01-01'), noInvalidDate: true })
  .map((at) => at.toISOString());

/** Values of a type, as text that Postgres reads. */
const TYPES: Readonly<Record<string, fc.Arbitrary<string>>> = {
  int2: fc.integer({ min: -32_768, max: 32_767 }).map(String),
  int4: fc.integer().map(String),
  int8: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String),
  oid: fc.integer({ min: 0, max: 4_294_967_295 }).map(String),
  numeric: fc.oneof(
    fc.tuple(digits(30), digits(30)).map(([whole, fraction]) => `-${whole}.${fraction}`),
    fc.constantFrom('NaN', 'Infinity', '-Infinity', '0.10', '1e-30', '9007199254740993'),
  ),
  float4: fc.oneof(fc.float({ noNaN: true }).map(String), fc.constantFrom('NaN', '-Infinity', '-0', '1e-45')),
  float8: fc.oneof(fc.double({ noNaN: true }).map(String), fc.constantFrom('NaN', 'Infinity', '-0', '5e-324')),
  bool: fc.boolean().map(String),
  text: noNul,
  'varchar(5)': fc.constantFrom('', 'a', 'ä😀'),
  bytea: fc.uint8Array().map((bytes) => `\\x${Buffer.from(bytes).toString('hex')}`),
  date: fc.oneof(moment, fc.constantFrom('infinity', '4714-11-24 BC')),
  timestamp: moment,
  timestamptz: fc.oneof(moment, fc.constantFrom('-infinity')),
  interval: fc
    .tuple(fc.integer({ min: -999, max: 999 }), fc.nat(86_399))
    .map(([days, seconds]) => `${days} days ${seconds} s`),
  uuid: fc.uuid(),
  json: fc.oneof(
    fc.json().filter(isStorable),
    fc.constantFrom('{"a":1, "a":2}', '[9007199254740993]', '{"__proto__":1}'),
  ),
  jsonb: fc.oneof(
    fc.json().filter(isStorable),
    fc.constantFrom('0.12345678901234567890', '[1e400]', '"\\ud83d\\ude00"'),
  ),
  'int4[]': fc.array(fc.integer()).map((items) => `{${items.join(',')}}`),
  'text[]': fc.array(fc.constantFrom('a', 'NULL', '"x,y"', '"\\"\\\\"')).map((items) => `{${items.join(',')}}`),
  int8range: fc.constantFrom('[1,5)', 'empty', '(,9007199254740993]'),
  inet: fc.constantFrom('10.0.0.1', '::1/64'),
  'bit(4)': fc.constantFrom('1010', '0000'),
  mood: fc.constantFrom('glad', 'sad, "very"'),
  money: fc.constantFrom('1.23', '-92233720368547758.08'),
};

function isStorable(text: string): boolean {
  return !text.includes('\\u0000') && !/\\ud[89a-f]/i.test(text) && text.isWellFormed();
}

describe.skipIf(!testPostgresServer)('values of Postgres', () => {
  let fixture: PostgresFixture;
  let database: Database;
  const names = Object.keys(TYPES);

  beforeAll(async () => {
    fixture = await createPostgresFixture();
    await fixture.admin.query(`CREATE TYPE mood AS ENUM ('glad', 'sad, "very"')`);
    await fixture.admin.query(`CREATE TABLE every (${names.map((type, at) => `c${at} ${type}`).join(', ')})`);
    await fixture.admin.query('GRANT SELECT ON every TO PUBLIC');
    database = await openPostgresDatabase(fixture.connection('reader'), never);
  });

  afterAll(async () => {
    await database?.close();
    await fixture?.remove();
  });

  /** Returns the text that Postgres reads the value of a result from. */
  const toInput = (type: string, value: Json | undefined): string =>
    type === 'bytea' ? `\\x${Buffer.from(String(value), 'base64').toString('hex')}` : String(value);

  verifies('B2', 'rows of every type, written by another connection, return equal', async () => {
    const insert = `INSERT INTO every VALUES (${names.map((type, at) => `$${at + 1}::${type}`).join(', ')})`;
    // Numbers compare by value, all others by the text that the database writes.
    const equal = names.map((type, at) => {
      const given = `$${at + 1}::text`;
      if (type === 'numeric') return `c${at} = ${given}::numeric`;
      // Compared below.
      if (type.startsWith('json')) return `(${given} IS NOT NULL)`;
      return `c${at}::text = ${given}::${type}::text`;
    });
    const compare = `SELECT ${equal.map((test, at) => `coalesce(${test}, false) AS "${names[at]}"`).join(', ')} FROM every`;
    await fc.assert(
      fc.asyncProperty(fc.tuple(...Object.values(TYPES)), async (values) => {
        await fixture.admin.query('TRUNCATE every');
        await fixture.admin.query(insert, values);
        const { rows, columns } = await database.query({ sql: 'TABLE every', params: [] }, runOptions());
        const row = rows[0] ?? [];
        const inputs = names.map((type, at) => toInput(type, row[at]));
        const same = (await fixture.admin.query(compare, inputs)).rows[0];
        const wrong = names.flatMap((type, at) =>
          same[type] ? [] : [`${type} ${values[at]}: ${JSON.stringify(row[at])}`],
        );
        expect(wrong).toEqual([]);
        for (const at of [names.indexOf('json'), names.indexOf('jsonb')]) {
          const { text } = (await fixture.admin.query(`SELECT c${at}::text AS text FROM every`)).rows[0];
          expect([text, JSON.parse(text)]).toContainEqual(row[at]);
        }
        expect(columns).toHaveLength(names.length);
        // The result survives JSON.
        expect(JSON.parse(JSON.stringify(row))).toEqual(row);
      }),
      { numRuns: MEASURES ? 500 : 25 },
    );
  });

  verifies('B2', 'numbers stay numbers where JSON holds them, and types have their names', async () => {
    const sql = `SELECT 9007199254740991::int8 AS a, 9007199254740993::int8 AS b, 1.50::numeric(10, 2) AS c,
      0.1::float4 AS d, 'NaN'::float8 AS e, '{"a": [1.5, null]}'::json AS f, '[12345678901234567890]'::jsonb AS g,
      '{"a":1,"a":2}'::json AS h, NULL::int AS i, true AS j, 'glad'::mood AS k, ARRAY[1, 2] AS l, '\\xff'::bytea AS m`;
    const { columns, rows } = await database.query({ sql, params: [] }, runOptions());
    expect(rows).toEqual([
      [
        ...[9007199254740991, '9007199254740993', 1.5, 0.1, 'NaN', { a: [1.5, null] }, '[12345678901234567890]'],
        ...['{"a":1,"a":2}', null, true, 'glad', '{1,2}', '/w=='],
      ],
    ]);
    expect(columns.map(({ type }) => type)).toEqual([
      ...['bigint', 'bigint', 'numeric(10,2)', 'real', 'double precision', 'json', 'jsonb', 'json', 'integer'],
      ...['boolean', 'mood', 'integer[]', 'bytea'],
    ]);
  });

  verifies('B2', 'parameters are values, and a wrong count names the right one', async () => {
    const read = async (sql: string, params: readonly Json[]) =>
      (await database.query({ sql, params }, runOptions())).rows;
    const sql = 'SELECT $1::int + 1, $2::text, $3::boolean, $4::jsonb, $1 IS NULL';
    expect(await read(sql, [1, "'; DROP TABLE w; --", true, { a: [1] }])).toEqual([
      [2, "'; DROP TABLE w; --", true, { a: [1] }, false],
    ]);
    expect(await read('SELECT $1::int', [null])).toEqual([[null]]);
    await expect(read('SELECT $1, $2', ['a'])).rejects.toThrow(
      'The statement has 2 parameters, and params has 1 values.',
    );
    await expect(read('SELECT 1', ['a'])).rejects.toThrow('The statement has 0 parameters');
    await expect(read('SELECT $1', ['a\0b'])).rejects.toThrow('The value 1 of params contains a NUL');
    await expect(read('SELECT $1', Array(40_000).fill('a'))).rejects.toMatchObject({ code: 'INPUT_INVALID' });
  });
});
