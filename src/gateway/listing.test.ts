import { expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { aTarget } from '../core/fixtures.ts';
import { bytesOf, toListing } from './listing.ts';

const target = (name: string) => aTarget({ publicName: name });
const [a, b, c] = [target('a'), target('b'), target('c')];

verifies('R1', 'the same page is the same object, in each era its own', () => {
  const listing = toListing({ items: [a, b] }, 'legacy');
  expect(toListing({ items: [a, b] }, 'legacy')).toBe(listing);
  expect(toListing({ items: [a, b] }, 'modern')).toMatchObject({ resultType: 'complete', ttlMs: 0, tools: [{}, {}] });
  expect(toListing({ items: [a, b] }, 'legacy')).not.toHaveProperty('ttlMs');
});

verifies('G2', 'a page with other tools is another, although it begins and ends alike', () => {
  const names = (listing: object) =>
    JSON.parse(String(bytesOf(listing as never))).tools.map(({ name }: { name: string }) => name);
  expect(names(toListing({ items: [a, b, c] }, 'legacy'))).toEqual(['a', 'b', 'c']);
  expect(names(toListing({ items: [a, c] }, 'legacy'))).toEqual(['a', 'c']);
  expect(names(toListing({ items: [a, target('b2'), c] }, 'legacy'))).toEqual(['a', 'b2', 'c']);
  expect(names(toListing({ items: [] }, 'legacy'))).toEqual([]);
});

verifies('R1', 'a page that goes on is not the one that ends', () => {
  expect(toListing({ items: [a], next: 'a' }, 'legacy')).toHaveProperty('nextCursor');
  expect(toListing({ items: [a] }, 'legacy')).not.toHaveProperty('nextCursor');
});

verifies('R1', 'a listing is written once, as the JSON that it is', () => {
  const listing = toListing({ items: [a, b], next: 'b' }, 'modern');
  const bytes = bytesOf(listing);
  expect(String(bytes)).toBe(JSON.stringify(listing));
  expect(bytesOf(toListing({ items: [a, b], next: 'b' }, 'modern'))).toBe(bytes);
  expect(bytesOf({ tools: [] })).toBeUndefined();
});
