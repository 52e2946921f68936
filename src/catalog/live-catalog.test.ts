import { expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { tool } from './fixtures.ts';
import { liveCatalog } from './live-catalog.ts';

function world(remembered: Parameters<typeof liveCatalog>[0]['remembered'] = []) {
  const owner = { entry: undefined, builtin: false };
  const told: number[] = [];
  const owners = new Map([
    ['a', owner],
    ['b', owner],
  ]);
  const catalog = liveCatalog({ owners, remembered, onChange: () => told.push(catalog.current().targets.length) });
  return { catalog, told };
}

verifies('R1', 'a change replaces the whole snapshot and does not edit the old one', () => {
  const { catalog } = world();
  catalog.update('a', [tool('one')]);
  const before = catalog.current();
  catalog.update('a', [tool('two'), tool('three')]);
  expect(before.targets.map(({ name }) => name)).toEqual(['one']);
  expect(before.find('a.two')).toBeUndefined();
  expect(catalog.current().targets.map(({ name }) => name)).toEqual(['three', 'two']);
  expect(catalog.current().find('a.one')).toBeUndefined();
});

verifies('R1', 'an unchanged list keeps the snapshot and calls no listener', () => {
  const { catalog, told } = world();
  catalog.update('a', [tool('one')]);
  const before = catalog.current();
  catalog.update('a', [tool('one')]);
  expect(catalog.current()).toBe(before);
  expect(told).toEqual([1]);
  catalog.update('a', [tool('one', { description: 'now with words' })]);
  expect(told).toEqual([1, 1]);
});

verifies('T3', 'lists cached tools before their server is started, without a change event', () => {
  const { catalog, told } = world([{ server: 'a', tools: [tool('one')] }]);
  expect(catalog.current().find('a.one')).toBeDefined();
  expect([catalog.knows('a'), catalog.knows('b')]).toEqual([true, false]);
  expect(told).toEqual([]);
});

verifies('R1', 'ignores the list of a server that is not configured', () => {
  const { catalog, told } = world([{ server: 'gone', tools: [tool('one')] }]);
  catalog.update('stranger', [tool('two')]);
  expect(catalog.current().targets).toEqual([]);
  expect(told).toEqual([]);
});

verifies('R1', 'a server with an empty tool list is known', () => {
  const { catalog } = world();
  catalog.update('a', []);
  expect(catalog.knows('a')).toBe(true);
});

verifies('T8', 'a new list changes only its kind and reports it', () => {
  const owners = new Map([['a', { entry: undefined, builtin: false }]]);
  const told: string[] = [];
  const catalog = liveCatalog({ owners, remembered: [], onChange: (list) => told.push(list) });
  catalog.update('a', [tool('one')]);
  for (const kind of ['resources', 'templates', 'prompts'] as const) catalog.update('a', [], kind);
  expect(told).toEqual(['tools']);
  const { prompts, resources } = catalog.current();
  catalog.update('a', [{ uri: 'u:1', name: 'one' }], 'resources');
  expect(catalog.current().prompts).toBe(prompts);
  expect(catalog.current().resources).not.toBe(resources);
  catalog.update('a', [{ uriTemplate: 'u:{x}', name: 'any' }], 'templates');
  catalog.update('a', [{ name: 'one' }], 'prompts');
  const before = catalog.current().resources;
  catalog.update('a', [tool('two')]);
  expect(catalog.current().resources).toBe(before);
  catalog.update('a', [], 'prompts');
  expect(told).toEqual(['tools', 'resources', 'resources', 'prompts', 'tools', 'prompts']);
  catalog.configure(new Map());
  expect(catalog.current().resources.targets).toEqual([]);
  expect(told.slice(-2)).toEqual(['tools', 'resources']);
});

verifies('T3', 'lists cached resources and prompts before their server is started', () => {
  const { catalog } = world([
    { server: 'a', tools: [], resources: [{ uri: 'u:1', name: 'x' }], prompts: [{ name: 'greet' }] },
  ]);
  expect(catalog.current().resources.targets).toMatchObject([{ kind: 'resource', publicName: 'u:1' }]);
  expect(catalog.current().prompts.find('a.greet')).toMatchObject({ kind: 'prompt', publicName: 'mcp__a__greet' });
  expect(catalog.current().find('a.greet')).toBeUndefined();
});

verifies('R7', 'a private list that repeats an item differs from a shared list of as many items', () => {
  const { catalog, told } = world();
  catalog.update('a', [tool('one'), tool('two')]);
  const user = { principal: 'ada', capabilitySet: 1, era: 'legacy' } as const;
  const put = (...names: string[]) =>
    catalog.privately.put({ server: 'a', user, kind: 'tools', items: names.map((name) => tool(name)) });
  put('two', 'one');
  expect(told).toHaveLength(1);
  put('one', 'one');
  expect(told).toHaveLength(2);
});
