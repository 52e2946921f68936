import { expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { categoriesOf, isInNarrowing, type Narrowing } from './categories.ts';
import { anEntry, catalogOf, tool } from './fixtures.ts';

const { targets } = catalogOf({
  b: [[tool('read'), tool('write')], anEntry({ category: 'files' })],
  a: [[tool('read', { harness: { category: 'files' } }), tool('other')]],
});

verifies('R6', 'each category is told with how many tools it has, and whose', () => {
  expect(categoriesOf(targets)).toEqual([
    { name: 'files', tools: 3, servers: ['a', 'b'] },
    { name: 'uncategorized', tools: 1, servers: ['a'] },
  ]);
  expect(categoriesOf([])).toEqual([]);
});

verifies('R6', 'tools are looked up by category and by server', () => {
  const within = (asked: Narrowing) =>
    targets.filter((target) => isInNarrowing(target, asked)).map(({ publicName }) => publicName);
  expect(within({ category: 'files' })).toEqual(['mcp__a__read', 'mcp__b__read', 'mcp__b__write']);
  expect(within({ server: 'a' })).toEqual(['mcp__a__other', 'mcp__a__read']);
  expect(within({ server: 'a', category: 'files' })).toEqual(['mcp__a__read']);
  expect(within({ category: 'toString' })).toEqual([]);
  expect(within({})).toHaveLength(targets.length);
});
