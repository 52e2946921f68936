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

verifies('R3', 'a tool that configuration calls equivalent is pooled, however it and its arguments are called', () => {
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

verifies('G2', 'a tool of a pool is known by what configuration calls it, in the pool and at each server', () => {
  const catalog = catalogOf({
    a: [[takes('search', ['query'])], entry({ search: { rename: 'look' } })],
    b: [[takes('find', ['query'])], entry({ find: { ...standsFor('look'), rename: 'seek' } })],
  });
  const target = catalog.find('mcp__p__look');
  expect(target).toMatchObject({ name: 'search', group: 'p', shownAs: 'look' });
  expect(target?.equivalents?.get('b')).toMatchObject({ name: 'find', shownAs: 'seek' });
});

verifies('R3', 'equivalents join those that are the same already, and the strictest facts hold for all', () => {
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

verifies('G5', 'a tool of a pool knows what limits it at each server', () => {
  const rateLimit = { maxCalls: 1, windowMs: 1000 };
  const search = takes('search', ['query']);
  const catalog = catalogOf({ a: [[search], entry({ search: { rateLimit } })], b: [[search], entry()] });
  expect([...(catalog.find('mcp__p__search')?.rateLimits ?? [])]).toEqual([['a', rateLimit]]);
});

verifies('R3', 'where tools of one name differ, the most preferred server’s is the one that is meant', () => {
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
    ['nobody would give it its argument key', {}, ['query', 'key'], ['key']],
  ];
for (const [why, rename, properties, required] of WRONG) {
  verifies('R3', `what cannot be equivalent is not pooled, and it is said why: ${why}`, () => {
    const { find, problems } = catalogOf({
      a: [[takes('search', ['query', 'limit'])], entry()],
      b: [[takes('find', properties, required)], entry({ find: standsFor('search', rename) })],
    });
    expect(find('mcp__p__search')).toBeUndefined();
    expect(find('mcp__b__find')).toBeDefined();
    expect(problems).toEqual([`b.find cannot stand in for search in the pool p: ${why}.`]);
  });
}

verifies('R3', 'a server stands in with one tool; what nobody offers cannot be stood in for', () => {
  const other = entry({ one: standsFor('search'), two: standsFor('search'), three: standsFor('nothing') });
  const { find, problems } = catalogOf({
    a: [[tool('search')], entry()],
    b: [[tool('two'), tool('three'), tool('one')], other],
  });
  expect(find('mcp__p__search')?.equivalents?.get('b')?.name).toBe('one');
  expect(problems).toEqual([
    'b.two cannot stand in for search in the pool p: b has another tool for it.',
    'b.three cannot stand in for nothing in the pool p: no other server of the pool offers it.',
  ]);
});
