import { expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { JsonObject } from '../../core/call.ts';
import { anEntry, tool } from '../fixtures.ts';
import { liveCatalog } from '../live-catalog.ts';
import { buildCatalog } from './build.ts';
import { capabilityEntries } from './capability-entries.ts';
import { buildServerTools } from './server-tools.ts';

const owner = { entry: undefined, builtin: false };
const offersOf = (able: Readonly<Record<number, readonly JsonObject[]>>, everybodys: readonly JsonObject[] = []) => {
  const lists = new Map(Object.entries(able).map(([key, tools]) => [Number(key), tools]));
  return capabilityEntries('up', { everybodys, able: lists }, owner);
};
const shown = (offers: ReturnType<typeof offersOf>) =>
  offers.map(({ tool: { name, onlyFor } }) => [name, ...(onlyFor ?? [])]);

it('only what not everybody is shown is for some, and the same tool is one for all of them', () => {
  const all = tool('all');
  expect(shown(offersOf({ 1: [all, tool('a')], 3: [all, tool('a'), tool('b')] }, [all]))).toEqual([
    ['a', 1, 3],
    ['b', 3],
  ]);
});

it('a tool that is another for others is not taken for theirs', () => {
  const other = tool('a', { description: 'Other.' });
  expect(shown(offersOf({ 1: [tool('a')], 2: [other] }))).toEqual([
    ['a', 1],
    ['a', 2],
  ]);
});

verifies('R2', 'what everybody sees keeps its names and flags whatever some are shown besides', () => {
  const parts = [buildServerTools('up__x', [tool('do'), tool('l1st')], owner)];
  const alone = buildCatalog(parts);
  const able = offersOf({ 1: [tool('x__do'), tool('x__list')] });
  const together = buildCatalog(parts, { able });
  for (const target of alone.targets) expect(together.find(target.publicName)).toBe(target);
  const others = together.targets.filter(({ onlyFor }) => onlyFor);
  expect(others.map(({ name, flags }) => [name, flags])).toEqual([
    ['x__do', ['looks-like: mcp__up__x__do']],
    ['x__list', ['looks-like: mcp__up__x__l1st']],
  ]);
  expect(others[0]?.publicName).toMatch(/^mcp__up__x__do_[0-9a-f]{8}$/);
});

function live(changes: unknown[] = []) {
  const owners = new Map([['up', owner]]);
  return liveCatalog({ owners, remembered: [], onChange: (...told) => changes.push(told) });
}
const namesIn = (catalog: ReturnType<typeof live>) => catalog.current().targets.map(({ name }) => name);

it('a change for some is told as theirs, and only when they see another thing', () => {
  const changes: unknown[] = [];
  const catalog = live(changes);
  catalog.update('up', [tool('all')]);
  catalog.updateAble({ server: 'up', abilities: 1, tools: [tool('all')] });
  catalog.updateAble({ server: 'up', abilities: 1, tools: [tool('all'), tool('a')] });
  catalog.updateAble({ server: 'up', abilities: 1, tools: [tool('a'), tool('all')] });
  expect(changes).toEqual([['tools'], ['tools', { abilities: 1 }]]);
  expect(namesIn(catalog)).toEqual(['a', 'all']);
});

it('what some are shown waits for what everybody is, and is no more once everybody is shown it', () => {
  const catalog = live();
  catalog.updateAble({ server: 'up', abilities: 1, tools: [tool('all'), tool('a')] });
  expect(namesIn(catalog)).toEqual([]);
  catalog.update('up', [tool('all')]);
  expect(namesIn(catalog)).toEqual(['a', 'all']);
  catalog.update('up', [tool('all'), tool('a')]);
  expect(catalog.current().targets.map(({ name, onlyFor }) => [name, onlyFor])).toEqual([
    ['a', undefined],
    ['all', undefined],
  ]);
});

it('a new entry holds for it, and another server of the name has none of it', () => {
  const catalog = live();
  catalog.update('up', []);
  catalog.updateAble({ server: 'up', abilities: 1, tools: [tool('a')] });
  catalog.configure(new Map([['up', { entry: undefined, builtin: true }]]));
  expect(catalog.current().targets.map(({ facts }) => facts.builtin)).toEqual([true]);
  catalog.configure(new Map([['up', { entry: anEntry({ name: 'another' }), builtin: false }]]));
  catalog.update('up', []);
  expect(namesIn(catalog)).toEqual([]);
});
