import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { anEntry, catalogOf, tool } from '../fixtures.ts';
import { buildCatalog } from './build.ts';
import { buildServerTools } from './server-tools.ts';

verifies('R1', 'two equal definitions of one name are one tool', () => {
  const [echo] = catalogOf({ s: [[tool('echo', { title: 'a' }), { title: 'a', ...tool('echo') }]] }).targets;
  expect(echo).toMatchObject({ name: 'echo', invalid: undefined });
});

verifies('R1', 'two different definitions of one name are one invalid tool', () => {
  const [a, b] = [tool('echo', { title: 'a' }), tool('echo', { title: 'b' })];
  for (const list of [
    [a, b, tool('fine')],
    [tool('fine'), b, a],
  ]) {
    const { targets } = catalogOf({ s: [list] });
    expect(targets).toHaveLength(2);
    expect(targets[0]).toMatchObject({ definition: a, invalid: expect.stringContaining('more than one tool') });
    expect(targets[1]).toMatchObject({ name: 'fine', invalid: undefined });
  }
});

verifies('R3', 'an invalid tool is not in a pool', () => {
  const entry = anEntry({ pool: 'p' });
  const tools = [tool('bad', { inputSchema: { $ref: 'https://example.com/' } }), tool('good')];
  const catalog = catalogOf({ a: [tools, entry], b: [tools, entry] });
  expect(catalog.find('p.bad')).toBeUndefined();
  expect(catalog.find('p.good')).toBeDefined();
});

verifies('R1', 'lists the first 10 000 of 100 000 tools by name and reports a problem', () => {
  const tools = Array.from({ length: 100_000 }, (_, index) => tool(`tool_${String(index).padStart(6, '0')}`));
  const owner = { entry: undefined, builtin: false };
  const catalog = buildCatalog([
    buildServerTools('huge', tools.reverse(), owner),
    buildServerTools('small', [tool('x')], owner),
  ]);
  expect(catalog.targets).toHaveLength(10_001);
  expect(catalog.find('huge.tool_000000')).toBeDefined();
  expect(catalog.find('huge.tool_010000')).toBeUndefined();
  expect(catalog.problems).toEqual([expect.stringMatching(/^huge lists 100000 tools; the first 10000 by name/)]);
});
