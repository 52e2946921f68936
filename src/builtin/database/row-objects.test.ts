import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { toRowObjects, uniqueNames } from './row-objects.ts';

verifies('B2', 'gives repeated columns numbers, and leaves the names that columns have', () => {
  for (const [names, unique] of [
    [
      ['a', 'b'],
      ['a', 'b'],
    ],
    [
      ['a', 'a', 'a'],
      ['a', 'a_2', 'a_3'],
    ],
    [
      ['a', 'a', 'a_2'],
      ['a', 'a_3', 'a_2'],
    ],
    [
      ['a_2', 'a_2', 'a', 'a'],
      ['a_2', 'a_2_2', 'a', 'a_3'],
    ],
    [
      ['__proto__', 'constructor'],
      ['__proto___2', 'constructor'],
    ],
    [
      ['', ''],
      ['', '_2'],
    ],
  ] as const) {
    expect(uniqueNames(names)).toEqual(unique);
  }
  expect(new Set(uniqueNames(Array.from({ length: 1664 }, () => 'same'))).size).toBe(1664);
});

verifies('B2', 'keeps a column named __proto__ as an ordinary key', () => {
  const columns = ['__proto__', 'constructor', 'id', 'id'].map((name) => ({ name, type: 'text' }));
  const { rows, columns: named } = toRowObjects({ columns, rows: [[{ x: 1 }, 'c', 1, 2]], truncated: false }, 1000);
  expect(JSON.stringify(rows)).toBe('[{"__proto___2":{"x":1},"constructor":"c","id":1,"id_2":2}]');
  expect(Object.getPrototypeOf(rows[0])).toBe(Object.prototype);
  expect(named.map(({ name }) => name)).toEqual(['__proto___2', 'constructor', 'id', 'id_2']);
});

verifies('B2', 'ends before the row that exceeds the limit in bytes, names of columns included', () => {
  const columns = [{ name: 'ä'.repeat(50), type: 'text' }];
  const rows = Array.from({ length: 10 }, () => ['x']);
  const row = Buffer.byteLength(JSON.stringify({ ['ä'.repeat(50)]: 'x' }));
  const all = row * 10 + Buffer.byteLength(JSON.stringify(columns));
  expect(toRowObjects({ columns, rows, truncated: false }, all)).toMatchObject({ truncated: false });
  const cut = toRowObjects({ columns, rows, truncated: false }, all - 1);
  expect(cut.rows).toHaveLength(9);
  expect(cut.truncated).toBe(true);
});

verifies('B2', 'cuts names of columns to 255 characters, so that many of 45,000 are neither sent nor compared', () => {
  const columns = Array.from({ length: 900 }, () => ({ name: 'n'.repeat(45_000), type: 't'.repeat(300) }));
  const rows = [columns.map(() => 1), columns.map(() => 2)];
  const result = toRowObjects({ columns, rows, truncated: false }, 5 * 1024 * 1024);
  expect(Buffer.byteLength(JSON.stringify(result))).toBeLessThan(2 * 1024 * 1024);
  expect(new Set(result.columns.map(({ name }) => name)).size).toBe(900);
  expect(result.columns[1]).toEqual({
    name: expect.stringMatching(/^n{248}… \[cut\]_2$/),
    type: expect.stringMatching(/^t{248}… \[cut\]$/),
  });
  expect(result.rows).toHaveLength(2);
});
