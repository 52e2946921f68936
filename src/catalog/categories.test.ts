import { expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { categoriesOf, inCategory } from './categories.ts';
import { anEntry, catalogOf, tool } from './fixtures.ts';

const { targets } = catalogOf({
  b: [[tool('read'), tool('write')], anEntry({ category: 'files' })],
  a: [[tool('read', { harness: { category: 'files' } }), tool('other')]],
});
const namesOf = (found: typeof targets) => found.map(({ publicName }) => publicName);

verifies('R6', 'each category is told with how many tools it has, and whose', () => {
  expect(categoriesOf(targets)).toEqual([
    { name: 'files', tools: 3, servers: ['a', 'b'] },
    { name: 'uncategorized', tools: 1, servers: ['a'] },
  ]);
  expect(categoriesOf([])).toEqual([]);
});

verifies('R6', 'tools are looked up by category and by server', () => {
  expect(namesOf(inCategory(targets, { category: 'files' }))).toEqual([
    'mcp__a__read',
    'mcp__b__read',
    'mcp__b__write',
  ]);
  expect(namesOf(inCategory(targets, { server: 'a' }))).toEqual(['mcp__a__other', 'mcp__a__read']);
  expect(namesOf(inCategory(targets, { server: 'a', category: 'files' }))).toEqual(['mcp__a__read']);
  expect(inCategory(targets, { category: 'toString' })).toEqual([]);
  expect(inCategory(targets, {})).toBe(targets);
});
