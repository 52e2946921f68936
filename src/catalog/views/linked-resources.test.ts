import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { linkedResources } from './linked-resources.ts';

const link = (server: string, uri: string) => ({
  server,
  uri,
  name: uri,
  from: { kind: 'tool' as const, publicName: 'mcp__a__links' },
});

verifies('R6', 'remembers a link for its principal alone, and forgets those of a removed server', () => {
  const links = linkedResources();
  links.add('ada', link('a', 'note:1'));
  links.add('ada', link('b', 'note:1'));
  expect(links.of('ada', 'note:1').map(({ server }) => server)).toEqual(['a', 'b']);
  expect(links.of('bob', 'note:1')).toEqual([]);
  links.forget('a');
  expect(links.of('ada', 'note:1').map(({ server }) => server)).toEqual(['b']);
});

verifies('R6', 'forgets the oldest links of a server that sends very many, and none of another server', () => {
  const links = linkedResources({ maxOwnChars: 1000 });
  links.add('ada', link('a', 'note:kept'));
  for (let at = 0; at < 10_000; at++) links.add('ada', link('flood', `note:${at}`));
  expect(links.of('ada', 'note:kept')).toHaveLength(1);
  expect(links.of('ada', 'note:9999')).toHaveLength(1);
  expect(links.of('ada', 'note:0')).toEqual([]);
});

verifies('R6', 'forgets the principals without new links when memory is full, and takes no very long URI', () => {
  const links = linkedResources({ maxChars: 10_000 });
  for (let at = 0; at < 1000; at++) links.add(`principal ${at}`, link('a', 'note:1'));
  expect(links.of('principal 999', 'note:1')).toHaveLength(1);
  expect(links.of('principal 0', 'note:1')).toEqual([]);
  links.add('principal 999', link('a', `note:${'x'.repeat(5000)}`));
  expect(links.of('principal 999', `note:${'x'.repeat(5000)}`)).toEqual([]);
});
