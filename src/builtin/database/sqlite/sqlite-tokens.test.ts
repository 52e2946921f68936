import { DatabaseSync } from 'node:sqlite';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { within } from '../../../../test/limits.ts';
import { verifies } from '../../../../test/requirements.ts';
import { parametersOf, sqliteTokens } from './sqlite-tokens.ts';

const item = fc.constantFrom(
  ...["'a;b'", "'it''s'", '"x;y"', '`p;q`', '[r;s]', "x'00ff'", '1', '.5', '1e5', '1e-5', '0x1f', '1_000', 'NULL'],
  ...['?', '?3', '?7', ':a', ':b2', '@a', '$a', '$a::b', '$c::d(e;f)', "'-- no'", "'/* no */'", "'\\'", '"\\"'],
  ...['(SELECT 1)', 'abs(-1)', "'é'", 'é.é', 'rowid', '1+-1', '1--1\n', '2/ /* ; */ 1', 'a$b', '_x'],
);
const gap = fc.constantFrom('', ' ', '\n', '\t', '\f', '\r', '/* ; */', '/**/', '-- ;\n', ' /* /* */ ', '-- x\r\n');
const rest = fc.constantFrom(
  '',
  ';',
  ' ; ',
  ';;',
  '; SELECT 2',
  ';DROP TABLE t',
  '/* open ;',
  '-- open ;',
  '; /* ; */ x',
  ";'",
);

verifies('B2', 'SQLite: statements end where SQLite ends them, and have its parameters', () => {
  const db = new DatabaseSync(':memory:', { returnArrays: true, enableDoubleQuotedStringLiterals: true });
  db.exec('CREATE TABLE "é" ("é", "x;y", "p;q", "r;s", a$b, _x)');
  db.exec('INSERT INTO é VALUES (1, 2, 3, 4, 5, 6)');
  const list = fc.array(fc.tuple(gap, item, gap), { minLength: 1, maxLength: 8 });
  const property = fc.property(list, rest, (items, tail) => {
    const sql = `SELECT ${items.map((parts) => parts.join('')).join(',')} FROM é ${tail}`;
    const { sourceSQL } = db.prepare(sql);
    const tokens = [...sqliteTokens(sql)];
    const end = tokens.find(({ text }) => text === ';');
    expect(sourceSQL).toBe(end ? sql.slice(0, end.at + 1) : sql);

    const parameters = parametersOf([...sqliteTokens(sourceSQL)]);
    const named = Object.fromEntries(
      parameters.flatMap((name, index) => (name === undefined ? [] : [[name, BigInt(index + 1)]])),
    );
    const values = parameters.flatMap((name, index) => (name === undefined ? [BigInt(index + 1)] : []));
    const statement = db.prepare(sourceSQL, { readBigInts: true, allowBareNamedParameters: false });
    const [row] = statement.all(named, ...values) as unknown as [unknown[]];
    for (const [index, [, text]] of items.entries()) {
      if (/^\?\d/.test(text)) expect(row[index]).toBe(BigInt(text.slice(1)));
      else if (/^[?:@$]/.test(text)) expect(row[index]).not.toBeNull();
    }
    // One value more than there are parameters is out of range.
    expect(() => statement.all(named, ...values, 1n)).toThrow(/out of range/);
  });
  fc.assert(property, { numRuns: 2000 });
  db.close();
});

it('takes linear time for any text', async () => {
  for (const piece of ["'", '"', '`', '[', '/*', '--', '?', ':a', "''", '$a(', '(', '1e', '\\']) {
    const tokens = await within(2000, () => [...sqliteTokens(piece.repeat(100_000))]);
    expect(tokens.map(({ text }) => text).join('').length).toBeLessThanOrEqual(piece.length * 100_000);
  }
});
