import { expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { JsonObject } from '../../core/call.ts';
import { anEntry, tool } from '../fixtures.ts';
import { liveCatalog } from '../live-catalog.ts';
import { buildCatalog } from './build.ts';
import { capabilityEntries } from './capability-entries.ts';
import { buildServerTools } from './server-tools.ts';

const owner = { entry: undefined, builtin: false };
const entriesOf = (tools: Readonly<Record<number, readonly JsonObject[]>>, shared: readonly JsonObject[] = []) => {
  const byCapability = new Map(Object.entries(tools).map(([key, listed]) => [Number(key), listed]));
  return capabilityEntries('up', { shared, byCapability }, owner);
};
const shown = (entries: ReturnType<typeof entriesOf>) =>
  entries.map(({ tool: { name, onlyFor } }) => [name, ...(onlyFor ?? [])]);

it('restricts only the tools missing from the shared list, one entry per definition', () => {
  const all = tool('all');
  expect(shown(entriesOf({ 1: [all, tool('a')], 3: [all, tool('a'), tool('b')] }, [all]))).toEqual([
    ['a', 1, 3],
    ['b', 3],
  ]);
});

it('keeps tools with one name and different definitions apart', () => {
  const other = tool('a', { description: 'Other.' });
  expect(shown(entriesOf({ 1: [tool('a')], 2: [other] }))).toEqual([
    ['a', 1],
    ['a', 2],
  ]);
});

verifies('R2', 'shared tools keep their names and flags whatever some clients see in addition', () => {
  const parts = [buildServerTools('up__x', [tool('do'), tool('l1st')], owner)];
  const alone = buildCatalog(parts);
  const byCapability = entriesOf({ 1: [tool('x__do'), tool('x__list')] });
  const together = buildCatalog(parts, { byCapability });
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

it('reports a change of capability tools to their audience, and only if they changed', () => {
  const changes: unknown[] = [];
  const catalog = live(changes);
  catalog.update('up', [tool('all')]);
  catalog.updateCapabilityTools({ server: 'up', capabilitySet: 1, tools: [tool('all')] });
  catalog.updateCapabilityTools({ server: 'up', capabilitySet: 1, tools: [tool('all'), tool('a')] });
  catalog.updateCapabilityTools({ server: 'up', capabilitySet: 1, tools: [tool('a'), tool('all')] });
  expect(changes).toEqual([['tools'], ['tools', { capabilitySet: 1 }]]);
  expect(namesIn(catalog)).toEqual(['a', 'all']);
});

it('lists capability tools after the shared list is known, and drops those that become shared', () => {
  const catalog = live();
  catalog.updateCapabilityTools({ server: 'up', capabilitySet: 1, tools: [tool('all'), tool('a')] });
  expect(namesIn(catalog)).toEqual([]);
  catalog.update('up', [tool('all')]);
  expect(namesIn(catalog)).toEqual(['a', 'all']);
  catalog.update('up', [tool('all'), tool('a')]);
  expect(catalog.current().targets.map(({ name, onlyFor }) => [name, onlyFor])).toEqual([
    ['a', undefined],
    ['all', undefined],
  ]);
});

it('applies a new entry to capability tools, and drops them for another server of the name', () => {
  const catalog = live();
  catalog.update('up', []);
  catalog.updateCapabilityTools({ server: 'up', capabilitySet: 1, tools: [tool('a')] });
  catalog.configure(new Map([['up', { entry: undefined, builtin: true }]]));
  expect(catalog.current().targets.map(({ facts }) => facts.builtin)).toEqual([true]);
  catalog.configure(new Map([['up', { entry: anEntry({ name: 'another' }), builtin: false }]]));
  catalog.update('up', []);
  expect(namesIn(catalog)).toEqual([]);
});
