import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { aTarget } from '../../core/fixtures.ts';
import { bytesOf, toListResult } from './list-result.ts';

const target = (name: string) => aTarget({ publicName: name });
const [a, b, c] = [target('a'), target('b'), target('c')];

verifies('R1', 'the same page is the same object, in each era its own', () => {
  const listing = toListResult({ items: [a, b] }, 'legacy');
  expect(toListResult({ items: [a, b] }, 'legacy')).toBe(listing);
  expect(toListResult({ items: [a, b] }, 'modern')).toMatchObject({
    resultType: 'complete',
    ttlMs: 0,
    tools: [{}, {}],
  });
  expect(toListResult({ items: [a, b] }, 'legacy')).not.toHaveProperty('ttlMs');
});

verifies('G2', 'a page with other tools is another, although it begins and ends alike', () => {
  const names = (listing: object) =>
    JSON.parse(String(bytesOf(listing as never))).tools.map(({ name }: { name: string }) => name);
  expect(names(toListResult({ items: [a, b, c] }, 'legacy'))).toEqual(['a', 'b', 'c']);
  expect(names(toListResult({ items: [a, c] }, 'legacy'))).toEqual(['a', 'c']);
  expect(names(toListResult({ items: [a, target('b2'), c] }, 'legacy'))).toEqual(['a', 'b2', 'c']);
  expect(names(toListResult({ items: [] }, 'legacy'))).toEqual([]);
});

verifies('R1', 'a page that goes on is not the one that ends', () => {
  expect(toListResult({ items: [a], next: 'a' }, 'legacy')).toHaveProperty('nextCursor');
  expect(toListResult({ items: [a] }, 'legacy')).not.toHaveProperty('nextCursor');
});

verifies('R1', 'a listing is written once, as the JSON that it is', () => {
  const listing = toListResult({ items: [a, b], next: 'b' }, 'modern');
  const bytes = bytesOf(listing);
  expect(String(bytes)).toBe(JSON.stringify(listing));
  expect(bytesOf(toListResult({ items: [a, b], next: 'b' }, 'modern'))).toBe(bytes);
  expect(bytesOf({ tools: [] })).toBeUndefined();
});
