import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { aTarget } from '../../core/fixtures.ts';
import { bytesOf, toListResult } from './list-result.ts';

const target = (name: string) => aTarget({ publicName: name });
const [a, b, c] = [target('a'), target('b'), target('c')];

verifies('R1', 'returns the same object for the same page, one per era', () => {
  const list = toListResult({ items: [a, b] }, 'legacy');
  expect(toListResult({ items: [a, b] }, 'legacy')).toBe(list);
  expect(toListResult({ items: [a, b] }, 'modern')).toMatchObject({
    resultType: 'complete',
    ttlMs: 0,
    tools: [{}, {}],
  });
  expect(toListResult({ items: [a, b] }, 'legacy')).not.toHaveProperty('ttlMs');
});

verifies('G2', 'returns another object for a page with the same first and last tool', () => {
  const names = (list: object) =>
    JSON.parse(String(bytesOf(list as never))).tools.map(({ name }: { name: string }) => name);
  expect(names(toListResult({ items: [a, b, c] }, 'legacy'))).toEqual(['a', 'b', 'c']);
  expect(names(toListResult({ items: [a, c] }, 'legacy'))).toEqual(['a', 'c']);
  expect(names(toListResult({ items: [a, target('b2'), c] }, 'legacy'))).toEqual(['a', 'b2', 'c']);
  expect(names(toListResult({ items: [] }, 'legacy'))).toEqual([]);
});

verifies('R1', 'adds nextCursor only to a page that is not the last', () => {
  expect(toListResult({ items: [a], next: 'a' }, 'legacy')).toHaveProperty('nextCursor');
  expect(toListResult({ items: [a] }, 'legacy')).not.toHaveProperty('nextCursor');
});

verifies('R1', 'serializes a list once', () => {
  const list = toListResult({ items: [a, b], next: 'b' }, 'modern');
  const bytes = bytesOf(list);
  expect(String(bytes)).toBe(JSON.stringify(list));
  expect(bytesOf(toListResult({ items: [a, b], next: 'b' }, 'modern'))).toBe(bytes);
  expect(bytesOf({ tools: [] })).toBeUndefined();
});
