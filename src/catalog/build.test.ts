import fc from 'fast-check';
import { expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import type { JsonObject } from '../core/call.ts';
import { buildCatalog, buildPart } from './build.ts';
import type { Catalog } from './catalog.ts';
import { anEntry, catalogOf, tool } from './fixtures.ts';
import { distinctName } from './naming.ts';

const namesOf = ({ targets }: Catalog) => targets.map(({ publicName }) => publicName);
const origins = ({ targets }: Catalog) =>
  Object.fromEntries(targets.map(({ publicName, servers, name }) => [publicName, [...servers, name]]));

// Few letters, so that names meet often; and anything at all.
const nasty = fc.oneof(
  fc.string({ unit: fc.constantFrom('a', '_', '__', '.', 'é'), minLength: 1, maxLength: 6 }),
  fc.string({ unit: 'binary', minLength: 1, maxLength: 90 }),
);
const someParts = fc.uniqueArray(
  fc.record({
    server: fc.oneof(fc.string({ unit: fc.constantFrom('a', 'b', '_', '__'), minLength: 1, maxLength: 5 }), nasty),
    tools: fc.array(fc.record({ name: nasty, shown: fc.option(nasty) }), { maxLength: 6 }),
    pool: fc.option(fc.oneof(fc.constantFrom('a', 'a__b', 'p'), nasty)),
  }),
  { selector: ({ server }) => server, maxLength: 6 },
);
type SomePart = typeof someParts extends fc.Arbitrary<(infer T)[]> ? T : never;

function partOf({ server, tools, pool }: SomePart) {
  const renamed = Object.fromEntries(tools.map(({ name, shown }) => [name, shown === null ? {} : { rename: shown }]));
  const entry = anEntry({ tools: renamed, ...(pool !== null && { pool }) });
  const definitions = tools.map(({ name }) => tool(name));
  return buildPart(server, definitions, { entry, builtin: false });
}

verifies('R2', 'every tool has exactly one public name, no two share one, and all are legal', () => {
  fc.assert(
    fc.property(someParts, (some) => {
      const parts = some.map(partOf);
      const catalog = buildCatalog(parts);
      const names = namesOf(catalog);
      expect(new Set(names).size).toBe(names.length);
      for (const name of names) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
      for (const target of catalog.targets) expect(catalog.find(target.publicName)).toBe(target);
      const alone = catalog.targets.filter(({ servers }) => servers.length === 1);
      const wanted = parts.flatMap(({ server, tools }) => tools.map(({ name }) => JSON.stringify([server, name])));
      expect(alone.map(({ servers, name }) => JSON.stringify([servers[0], name])).sort()).toEqual(wanted.sort());
    }),
    { numRuns: 300 },
  );
});

verifies('R2', 'the same servers in any order give the same names', () => {
  const shuffled = someParts.chain((some) =>
    fc.tuple(fc.constant(some), fc.shuffledSubarray(some, { minLength: some.length })),
  );
  fc.assert(
    fc.property(shuffled, ([some, other]) => {
      expect(origins(buildCatalog(other.map(partOf)))).toEqual(origins(buildCatalog(some.map(partOf))));
    }),
    { numRuns: 300 },
  );
});

verifies('R2', '__ inside either part works, and both sides of a collision get a suffix', () => {
  const catalog = catalogOf({ a: [[tool('b__c'), tool('x__y')]], a__b: [[tool('c')]] });
  const [one, other] = [distinctName('a', 'b__c'), distinctName('a__b', 'c')];
  expect(origins(catalog)).toEqual({ [one]: ['a', 'b__c'], [other]: ['a__b', 'c'], mcp__a__x__y: ['a', 'x__y'] });
});

verifies('R2', 'no tool takes over a name by looking like the suffixed name of another', () => {
  const wanted = distinctName('a__b', 'c');
  const forged = wanted.slice('mcp__a__'.length);
  const catalog = catalogOf({ a: [[tool('b__c'), tool(forged)]], a__b: [[tool('c')]] });
  expect(catalog.find(wanted)).toMatchObject({ servers: ['a__b'], name: 'c' });
  expect(catalog.targets).toHaveLength(3);
});

verifies('R2', 'a pool named like one of its servers hides none of its tools', () => {
  const pooled = anEntry({ pool: 'search' });
  const catalog = catalogOf({ search: [[tool('find')], pooled], other: [[tool('find')], pooled] });
  expect(catalog.targets.map(({ servers }) => servers.join()).sort()).toEqual(['other', 'other,search', 'search']);
  expect(catalog.find('search.find')).toBeUndefined();
  expect(catalog.called('search.find').map(({ servers }) => servers.length)).toEqual([1, 2]);
});

verifies('R2', 'a tool is renamed or hidden where configuration says so, and keeps its own name upstream', () => {
  const entry = anEntry({ tools: { old: { rename: 'new' }, secret: { hidden: true } } });
  const catalog = catalogOf({ s: [[tool('old'), tool('secret'), tool('plain')], entry] });
  expect(namesOf(catalog)).toEqual(['mcp__s__new', 'mcp__s__plain']);
  expect(catalog.find('s.new')).toMatchObject({ name: 'old', publicName: 'mcp__s__new' });
  expect(catalog.find('s.old')).toBeUndefined();
  expect(catalog.find('s.secret')).toBeUndefined();
});

verifies('R2', 'a tool that is listed twice is one tool, the first', () => {
  const catalog = catalogOf({ s: [[tool('echo', { title: 'first' }), tool('echo', { title: 'second' })]] });
  expect(catalog.targets.map(({ definition }) => definition.title)).toEqual(['first']);
});

verifies('R3', 'a pool offers what its servers have in common, best priority first, then by name', () => {
  const at = (priority: number) => anEntry({ pool: 'p', priority });
  const odd: JsonObject = { inputSchema: { type: 'object', required: ['q'] } };
  const catalog = catalogOf({
    aaa: [[tool('find'), tool('only')], at(0)],
    b: [[tool('find')], at(5)],
    a: [[tool('find')], at(5)],
    odd: [[tool('find', odd)], at(9)],
    outside: [[tool('find')]],
  });
  expect(catalog.find('mcp__p__find')?.servers).toEqual(['a', 'b', 'aaa']);
  expect(catalog.find('mcp__p__only')).toBeUndefined();
});

verifies('R3', 'schemas that differ in the order of their keys are equal', () => {
  const one = tool('find', { inputSchema: { type: 'object', required: ['q'] } });
  const other = tool('find', { inputSchema: { required: ['q'], type: 'object' } });
  const entry = anEntry({ pool: 'p' });
  expect(catalogOf({ a: [[one], entry], b: [[other], entry] }).find('p.find')?.servers).toEqual(['a', 'b']);
});

verifies('R3', 'a pooled tool has the strictest facts of its servers', () => {
  const mild = anEntry({
    pool: 'p',
    priority: 1,
    tools: { t: { readOnly: true, idempotent: true, timeoutMs: 9000, rateLimit: { maxCalls: 10, windowMs: 1000 } } },
  });
  const strict = anEntry({
    pool: 'p',
    tools: {
      t: { riskLevel: 'high', requiresApproval: true, timeoutMs: 500, rateLimit: { maxCalls: 1, windowMs: 1000 } },
    },
  });
  expect(catalogOf({ mild: [[tool('t')], mild], strict: [[tool('t')], strict] }).find('p.t')?.facts).toMatchObject({
    readOnly: false,
    idempotent: false,
    riskLevel: 'high',
    requiresApproval: true,
    timeoutMs: 500,
    rateLimit: { maxCalls: 1, windowMs: 1000 },
  });
});

verifies('R10', 'the digest of a tool does not depend on the order of its keys, and changes with its words', () => {
  const digest = (definition: JsonObject) => catalogOf({ s: [[definition]] }).targets[0]?.digest;
  const one = digest({ name: 'a', description: 'x', inputSchema: { type: 'object', title: 't' } });
  expect(digest({ inputSchema: { title: 't', type: 'object' }, description: 'x', name: 'a' })).toBe(one);
  expect(digest({ name: 'a', description: 'y', inputSchema: { type: 'object', title: 't' } })).not.toBe(one);
  expect(one).toMatch(/^[0-9a-f]{64}$/);
});
