import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { SdkEntry } from '../../config/schema/schema.ts';
import { serverEntry } from '../../config/schema/server-schema.ts';
import type { JsonObject } from '../../core/call.ts';
import { catalogOf, tool } from '../fixtures.ts';

const entry = (tools: JsonObject = {}, more: JsonObject = {}) =>
  serverEntry.parse({ type: 'sdk', name: 'in-process', pool: 'p', tools, ...more }) as SdkEntry;
const takes = (name: string, properties: readonly string[], required: readonly string[] = []) =>
  tool(name, {
    inputSchema: { type: 'object', properties: Object.fromEntries(properties.map((key) => [key, {}])), required },
  });
const standsFor = (other: string, rename: JsonObject = {}) => ({ equivalent: { tool: other, rename } });

verifies('R3', 'pools a configured equivalent with another name and other argument names', () => {
  const find = takes('find', ['q', 'limit'], ['q']);
  const catalog = catalogOf({
    a: [[takes('search', ['query', 'limit'], ['query'])], entry()],
    b: [[find], entry({ find: standsFor('search', { query: 'q' }) }, { priority: 1 })],
  });
  const target = catalog.find('mcp__p__search');
  expect(target).toMatchObject({ name: 'search', servers: ['b', 'a'], definition: { name: 'search' } });
  expect([...(target?.equivalents ?? [])]).toEqual([['b', { name: 'find', definition: find, rename: { query: 'q' } }]]);
  expect(catalog.problems).toEqual([]);
  expect(catalog.targets.map(({ publicName }) => publicName)).toEqual([
    'mcp__a__search',
    'mcp__b__find',
    'mcp__p__search',
  ]);
});

verifies('G2', 'a tool of a pool has its configured name in the pool and at each server', () => {
  const catalog = catalogOf({
    a: [[takes('search', ['query'])], entry({ search: { rename: 'look' } })],
    b: [[takes('find', ['query'])], entry({ find: { ...standsFor('look'), rename: 'seek' } })],
  });
  const target = catalog.find('mcp__p__look');
  expect(target).toMatchObject({ name: 'search', group: 'p', shownAs: 'look' });
  expect(target?.equivalents?.get('b')).toMatchObject({ name: 'find', shownAs: 'seek' });
});

verifies('R3', 'equivalents join the pooled tools, with the strictest facts of all', () => {
  const search = takes('search', ['query']);
  const safe = { readOnly: true, hedgeAfterMs: 40 };
  const catalog = catalogOf({
    a: [[search], entry({ search: safe })],
    b: [[search], entry({ search: { ...safe, hedgeAfterMs: 60 } })],
    c: [[takes('find', ['query'])], entry({ find: standsFor('search') })],
  });
  expect(catalog.find('mcp__p__search')).toMatchObject({
    servers: ['a', 'b', 'c'],
    facts: { readOnly: false, hedgeAfterMs: 60 },
  });
});

verifies('G5', 'a tool of a pool has the rate limit of each server', () => {
  const rateLimit = { maxCalls: 1, windowMs: 1000 };
  const search = takes('search', ['query']);
  const catalog = catalogOf({ a: [[search], entry({ search: { rateLimit } })], b: [[search], entry()] });
  expect([...(catalog.find('mcp__p__search')?.rateLimits ?? [])]).toEqual([['a', rateLimit]]);
});

verifies('R3', 'an equivalent joins the tool of the most preferred server if tools of one name differ', () => {
  const servers = (priority: number) => ({
    a: [[takes('search', ['query'])], entry()] as const,
    b: [[takes('search', ['text'])], entry({}, { priority })] as const,
    c: [[takes('find', ['text'])], entry({ find: standsFor('search') })] as const,
  });
  const pooled = catalogOf(servers(1)).find('mcp__p__search');
  expect([pooled?.servers, pooled?.definition.inputSchema]).toMatchObject([['b', 'c'], { properties: { text: {} } }]);
});

const WRONG: readonly [why: string, rename: JsonObject, properties: readonly string[], required?: readonly string[]][] =
  [
    ['search has no argument words', { words: 'q' }, ['q']],
    ['it has no argument q', { query: 'q' }, ['text']],
    ['two arguments would have the same name', { query: 'limit' }, ['limit']],
    ['its required argument key would be missing', {}, ['query', 'key'], ['key']],
  ];
for (const [why, rename, properties, required] of WRONG) {
  verifies('R3', `does not pool a tool that cannot be equivalent: ${why}`, () => {
    const { find, problems } = catalogOf({
      a: [[takes('search', ['query', 'limit'])], entry()],
      b: [[takes('find', properties, required)], entry({ find: standsFor('search', rename) })],
    });
    expect(find('mcp__p__search')).toBeUndefined();
    expect(find('mcp__b__find')).toBeDefined();
    expect(problems).toEqual([`b.find cannot stand in for search in the pool p: ${why}.`]);
  });
}

verifies('R3', 'each server stands in with one tool, and only for a tool that exists', () => {
  const other = entry({ one: standsFor('search'), two: standsFor('search'), three: standsFor('nothing') });
  const { find, problems } = catalogOf({
    a: [[tool('search')], entry()],
    b: [[tool('two'), tool('three'), tool('one')], other],
  });
  expect(find('mcp__p__search')?.equivalents?.get('b')?.name).toBe('one');
  expect(problems).toEqual([
    'b.two cannot stand in for search in the pool p: b has another tool for it.',
    'b.three cannot stand in for nothing in the pool p: no other server of the pool has it.',
  ]);
});

verifies('G6', 'the digest of a pool covers the definitions of all its servers', () => {
  const run = takes('run', ['x']);
  const at = (b: JsonObject, c: JsonObject) =>
    catalogOf({
      a: [[run], entry({}, { priority: 2 })],
      b: [[b], entry()],
      c: [[c], entry({ exec: standsFor('run') })],
    }).find('mcp__p__run')?.digest;
  const exec = takes('exec', ['x']);
  const before = at(run, exec);
  expect(at(run, exec)).toBe(before);
  expect(at({ ...run, description: 'Deletes the production database.' }, exec)).not.toBe(before);
  expect(at(run, { ...exec, description: 'Runs x as root.' })).not.toBe(before);
});

verifies('G6', 'the digest of a pool of replicas is that of their one definition', () => {
  const catalog = catalogOf({ a: [[takes('run', ['x'])], entry()], b: [[takes('run', ['x'])], entry()] });
  expect(catalog.find('mcp__p__run')?.digest).toBe(catalog.find('mcp__a__run')?.digest);
});
