import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { liveCatalog } from '../live-catalog.ts';
import { buildNameIndex } from './build.ts';
import { promptEntries } from './prompts.ts';

const NO_ENTRY = { entry: undefined, builtin: false };
const shelf = (servers: Readonly<Record<string, readonly object[]>>) =>
  buildNameIndex(
    Object.entries(servers).flatMap(([server, prompts]) => promptEntries(server, prompts as never, NO_ENTRY).entries),
  );

verifies('R2', 'prompts are named like tools', () => {
  const { targets, find, called } = shelf({
    a: [{ name: 'greet' }, { name: 'grüßen' }],
    a__b: [{ name: 'c' }],
    b: [{ name: 'greet' }],
  });
  expect(targets.map(({ publicName }) => publicName)).toEqual([
    'mcp__a__b__c',
    'mcp__a__gr--en_58c36d10',
    'mcp__a__greet',
    'mcp__b__greet',
  ]);
  expect(find('b.greet')).toMatchObject({ kind: 'prompt', name: 'greet', facts: { readOnly: true, idempotent: true } });
  expect(called('greet')).toHaveLength(2);
});

verifies('R1', 'an invalid prompt has a reason', () => {
  const prompts = [
    { name: '' },
    { name: 'unnamed', arguments: [{}] },
    { name: 'no list', arguments: 1 },
    { name: 'twice', title: 'a' },
    { name: 'twice', title: 'b' },
    { name: 'fine', arguments: [{ name: 'x' }] },
  ];
  const reasons = Object.fromEntries(shelf({ s: prompts }).targets.map(({ name, invalid }) => [name, invalid]));
  expect(reasons).toEqual({
    '': 'it has no name',
    unnamed: 'one of its arguments has no name',
    'no list': 'its arguments are not a list of at most 1000',
    twice: 'its server lists more than one prompt of this name, and they differ',
    fine: undefined,
  });
});

verifies('R2', 'limits a very long list of any kind and reports it', () => {
  const catalog = liveCatalog({ owners: new Map([['huge', NO_ENTRY]]), remembered: [], onChange: () => {} });
  const many = <T>(item: (index: number) => T) => Array.from({ length: 20_000 }, (_, index) => item(index));
  const names = many((index) => ({ name: `p${index}` }));
  catalog.update('huge', names, 'prompts');
  const uris = many((index) => ({ name: 'x', uri: `u:${index}` }));
  catalog.update('huge', uris, 'resources');
  const { prompts, resources, problems } = catalog.current();
  expect([prompts.targets.length, resources.targets.length]).toEqual([10_000, 10_000]);
  expect(problems).toEqual([
    expect.stringMatching(/^huge lists 20000 resources; the first 10000 by name/),
    expect.stringMatching(/^huge lists 20000 prompts; the first 10000 by name/),
  ]);
});
