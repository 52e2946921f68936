import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { parseTableName } from './parse-table-name.ts';

verifies('B2', 'reads table names with a schema, quotes of every database, and dots inside quotes', () => {
  for (const [text, schema, expected] of [
    ['orders', undefined, { table: 'orders' }],
    ['shop.orders', undefined, { schema: 'shop', table: 'orders' }],
    ['"Order Items"', undefined, { table: 'Order Items' }],
    ['"shop"."a.b"', undefined, { schema: 'shop', table: 'a.b' }],
    ['shop."say ""hi"""', undefined, { schema: 'shop', table: 'say "hi"' }],
    ['`a``b`.`c`', undefined, { schema: 'a`b', table: 'c' }],
    ['[dbo].[a]]b]', undefined, { schema: 'dbo', table: 'a]b' }],
    ['"open', undefined, { table: '"open' }],
    ['"a"b', undefined, { table: '"a"b' }],
    ['a.b', 'shop', { schema: 'shop', table: 'a.b' }],
    ['"Orders"', '"Shop"', { schema: 'Shop', table: 'Orders' }],
  ] as const) {
    expect(parseTableName(text, schema), text).toEqual(expected);
  }
});

verifies('B2', 'refuses names with three parts or an empty one', () => {
  for (const text of ['a.b.c', '', '.', 'a.', '.a', 'a..b']) {
    expect(() => parseTableName(text, undefined), text).toThrow('is not the name of a table');
  }
});
