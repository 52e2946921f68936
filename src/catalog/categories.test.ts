import { expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { categoriesOf, type ListFilter, matchesFilter } from './categories.ts';
import { anEntry, catalogOf, tool } from './fixtures.ts';

const { targets } = catalogOf({
  b: [[tool('read'), tool('write')], anEntry({ category: 'files' })],
  a: [[tool('read', { harness: { category: 'files' } }), tool('other')]],
});

verifies('R6', 'lists each category with the number of its tools and their servers', () => {
  expect(categoriesOf(targets)).toEqual([
    { name: 'files', tools: 3, servers: ['a', 'b'] },
    { name: 'uncategorized', tools: 1, servers: ['a'] },
  ]);
  expect(categoriesOf([])).toEqual([]);
});

verifies('R6', 'filters tools by category and by server', () => {
  const within = (filter: ListFilter) =>
    targets.filter((target) => matchesFilter(target, filter)).map(({ publicName }) => publicName);
  expect(within({ category: 'files' })).toEqual(['mcp__a__read', 'mcp__b__read', 'mcp__b__write']);
  expect(within({ server: 'a' })).toEqual(['mcp__a__other', 'mcp__a__read']);
  expect(within({ server: 'a', category: 'files' })).toEqual(['mcp__a__read']);
  expect(within({ category: 'toString' })).toEqual([]);
  expect(within({})).toHaveLength(targets.length);
});
