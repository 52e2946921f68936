import fc from 'fast-check';
import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { JsonObject } from '../../core/call.ts';
import type { Catalog } from '../catalog.ts';
import { anEntry, catalogOf, tool } from '../fixtures.ts';
import { buildCatalog } from './build.ts';
import { distinctName } from './naming.ts';
import { buildServerTools, type ServerTools } from './server-tools.ts';

const namesOf = ({ targets }: Catalog) => targets.map(({ publicName }) => publicName);
const origins = ({ targets }: Catalog) =>
  Object.fromEntries(targets.map(({ publicName, servers, name }) => [publicName, [...servers, name]]));
const flagged = ({ targets }: Catalog) => targets.map(({ publicName, flags }) => [publicName, flags]);

// Few letters, so that names meet often; and anything at all.
const nasty = fc.oneof(
  fc.string({ unit: fc.constantFrom('a', '_', '__', '.', 'é'), minLength: 1, maxLength: 6 }),
  fc.string({ unit: 'binary', minLength: 1, maxLength: 90 }),
  fc.string({ unit: fc.constantFrom('\ud800', '\udc00', '\u200b', '\0', 'а', 'a'), minLength: 1, maxLength: 4 }),
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
  return buildServerTools(server, definitions, { entry, builtin: false });
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

verifies('G2', 'a renamed tool keeps its configured name if its server lists another tool with that name', () => {
  const entry = anEntry({ tools: { rm: { rename: 'delete' } } });
  const { targets } = catalogOf({ fs: [[tool('rm'), tool('delete')], entry] });
  expect(targets.map(({ publicName }) => publicName)).not.toContain('mcp__fs__delete');
  expect(targets.map(({ name, group, shownAs }) => [name, group, shownAs]).sort()).toEqual([
    ['delete', 'fs', 'delete'],
    ['rm', 'fs', 'delete'],
  ]);
});

verifies('R2', 'the same servers and tools in any order give the same names and flags', () => {
  const inAnyOrder = <T>(some: readonly T[]) => fc.shuffledSubarray([...some], { minLength: some.length });
  const once = ({ tools, ...rest }: SomePart): SomePart => {
    const byName = new Map(tools.map((one) => [one.name, one])); // Configuration says one thing of one name.
    return { ...rest, tools: [...byName.values()] };
  };
  const shuffled = someParts.chain((some) => {
    const parts = some.map(once);
    const mixed = parts.map((part) => inAnyOrder(part.tools).map((tools): SomePart => ({ ...part, tools })));
    return fc.tuple(fc.constant(parts), fc.tuple(...mixed).chain(inAnyOrder));
  });
  fc.assert(
    fc.property(shuffled, ([some, other]) => {
      const [one, same] = [buildCatalog(some.map(partOf)), buildCatalog(other.map(partOf))];
      expect(origins(same)).toEqual(origins(one));
      expect(flagged(same)).toEqual(flagged(one));
    }),
    { numRuns: 300 },
  );
});

verifies('R2', 'accepts __ in server and tool names, and suffixes both sides of a collision', () => {
  const catalog = catalogOf({ a: [[tool('b__c'), tool('x__y')]], a__b: [[tool('c')]] });
  const [one, other] = [distinctName('a', 'b__c'), distinctName('a__b', 'c')];
  expect(origins(catalog)).toEqual({ [one]: ['a', 'b__c'], [other]: ['a__b', 'c'], mcp__a__x__y: ['a', 'x__y'] });
});

verifies('R2', 'no tool takes over the suffixed name of another', () => {
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

verifies('R2', 'renames and hides tools by configuration, and keeps the server’s own name for calls', () => {
  const entry = anEntry({ tools: { old: { rename: 'new' }, secret: { hidden: true } } });
  const catalog = catalogOf({ s: [[tool('old'), tool('secret'), tool('plain')], entry] });
  expect(namesOf(catalog)).toEqual(['mcp__s__new', 'mcp__s__plain']);
  expect(catalog.find('s.new')).toMatchObject({ name: 'old', publicName: 'mcp__s__new' });
  expect(catalog.find('s.old')).toBeUndefined();
  expect(catalog.find('s.secret')).toBeUndefined();
});

verifies('R2', 'flags both of two look-alike names', () => {
  const catalog = catalogOf({ github: [[tool('get_issue')]], gіthub: [[tool('get_lssue')]], other: [[tool('x')]] });
  const [plain, forged] = ['mcp__github__get_issue', distinctName('gіthub', 'get_lssue')];
  expect(Object.fromEntries(flagged(catalog))).toEqual({
    [plain]: [`looks-like: ${forged}`],
    [forged]: [`looks-like: ${plain}`],
    mcp__other__x: [],
  });
});

verifies('R2', 'flags collisions and names that imitate a changed name', () => {
  const changed = distinctName('s', 'get.user');
  const catalog = catalogOf({ s: [[tool('get.user'), tool(changed.slice('mcp__s__'.length))]] });
  expect(catalog.find(changed)).toMatchObject({ name: 'get.user' });
  expect(catalog.targets.map(({ flags }) => flags.length)).toEqual([1, 1]);
  const meeting = catalogOf({ a: [[tool('b__c')]], a__b: [[tool('c')]] });
  expect(meeting.targets.map(({ flags }) => flags.length)).toEqual([1, 1]);
});

verifies('R2', 'each of many look-alikes has one flag', () => {
  const crowd = Array.from({ length: 50 }, (_, index) => tool(`t${'\u200b'.repeat(index)}`));
  for (const { flags } of catalogOf({ s: [crowd] }).targets) {
    expect(flags.filter((flag) => flag.startsWith('looks-like: '))).toHaveLength(1);
  }
});

verifies('R2', 'flags an unprintable name and spells it by its public name only', () => {
  const catalog = catalogOf({ s: [[tool('do\u001b[2Jit')]] });
  const [target] = catalog.targets;
  expect(target).toMatchObject({ name: 'do\u001b[2Jit', flags: ['unprintable'] });
  expect(target && catalog.spellings(target)).toEqual([target?.publicName]);
});

verifies('R1', 'a change of one server keeps the target objects of all others', () => {
  const [one, two] = ['a', 'b'].map((server) =>
    buildServerTools(server, [tool('x'), tool('y')], { entry: undefined, builtin: false }),
  );
  const changed = buildServerTools('b', [tool('z')], { entry: undefined, builtin: false });
  if (!one || !two) throw new Error('There are two parts.');
  const [before, after] = [buildCatalog([one, two]), buildCatalog([one, changed])];
  for (const name of ['a.x', 'a.y']) expect(after.find(name)).toBe(before.find(name));
  expect(after.find('b.x')).toBeUndefined();
});

verifies('R1', 'a target is flagged while a look-alike exists', () => {
  const owner = { entry: undefined, builtin: false };
  const [known, alike] = [buildServerTools('a', [tool('list')], owner), buildServerTools('а', [tool('list')], owner)];
  const flagsWith = (...others: ServerTools[]) => buildCatalog([known, ...others]).find('a.list')?.flags.length;
  expect([flagsWith(), flagsWith(alike), flagsWith()]).toEqual([0, 1, 0]);
});

verifies('R3', 'rebuilds a pool only when one of its servers changes', () => {
  const owner = { entry: anEntry({ pool: 'p' }), builtin: false };
  const [a, b, c] = ['a', 'b', 'c'].map((server) => buildServerTools(server, [tool('x')], owner)) as [
    ServerTools,
    ServerTools,
    ServerTools,
  ];
  const outside = buildServerTools('d', [tool('x')], { entry: undefined, builtin: false });
  const before = buildCatalog([a, b]).find('p.x');
  expect(buildCatalog([b, outside, a]).find('p.x')).toBe(before);
  expect(buildCatalog([a, b, c]).find('p.x')?.servers).toEqual(['a', 'b', 'c']);
});

verifies('R3', 'a pool has the common tools of its servers, sorted by priority and name', () => {
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

verifies('R3', 'ignores the key order of schemas when it pools tools', () => {
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

verifies('R10', 'the digest of a tool ignores key order and changes with the definition', () => {
  const digest = (definition: JsonObject) => catalogOf({ s: [[definition]] }).targets[0]?.digest;
  const one = digest({ name: 'a', description: 'x', inputSchema: { type: 'object', title: 't' } });
  expect(digest({ inputSchema: { title: 't', type: 'object' }, description: 'x', name: 'a' })).toBe(one);
  expect(digest({ name: 'a', description: 'y', inputSchema: { type: 'object', title: 't' } })).not.toBe(one);
  expect(one).toMatch(/^[0-9a-f]{64}$/);
});
