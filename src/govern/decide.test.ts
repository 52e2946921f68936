import fc from 'fast-check';
import { expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import type { JsonObject, Target } from '../core/call.ts';
import { ada, aTarget } from '../core/fixtures.ts';
import { decider, deniesServer, type Policy } from './decide.ts';

type Rules = Partial<Policy['permissions']>;
type ServerRules = Policy['servers'] extends ReadonlyMap<string, infer T> ? T : never;
interface Written {
  readonly mode?: Policy['mode'];
  readonly rules?: Rules;
  readonly servers?: Readonly<Record<string, ServerRules>>;
}

const policyOf = ({ mode = 'guarded', rules = {}, servers = {} }: Written): Policy => ({
  mode,
  permissions: { allow: [], ask: [], deny: [], ...rules },
  servers: new Map(Object.entries(servers)),
});
const decide = (written: Written, target: Target, input?: JsonObject) =>
  decider(policyOf(written))(ada, target, input && { input });
const effect = (...asked: Parameters<typeof decide>) => decide(...asked).effect;
const tool = (server: string, name: string, facts: Partial<Target['facts']> = {}) =>
  aTarget({ publicName: `mcp__${server}__${name}`, servers: [server], name, facts });
const pooled = (name: string, facts: Partial<Target['facts']> = {}) =>
  aTarget({ publicName: `mcp__p__${name}`, servers: ['a', 'b'], name, group: 'p', shownAs: name, facts });

const EFFECTS = ['deny', 'ask', 'allow'] as const;

verifies('G2', 'deny wins over ask, and ask over allow, in any list', () => {
  const globally = (one: string): Rules => ({ [one]: ['mcp__s__t'] });
  const atServer = (one: (typeof EFFECTS)[number]): ServerRules => ({ writePermission: one });
  for (const [rank, one] of EFFECTS.entries()) {
    for (const other of EFFECTS.slice(rank)) {
      for (const [globalRule, serverRule] of [
        [one, other],
        [other, one],
      ] as const) {
        const written: Written = { mode: 'open', rules: globally(globalRule), servers: { s: atServer(serverRule) } };
        expect([globalRule, serverRule, effect(written, tool('s', 't'))]).toEqual([globalRule, serverRule, one]);
      }
      expect(effect({ rules: { ...globally(one), [other]: ['mcp__s'] } }, tool('s', 't'))).toBe(one);
    }
  }
});

const PATTERNS: readonly (readonly [pattern: string, server: string, tool: string, hits: boolean])[] = [
  ['mcp__git__status', 'git', 'status', true],
  ['mcp__git__status', 'git', 'status__all', false],
  ['mcp__git__status', 'git', 'stat', false],
  ['mcp__git', 'git', 'status', true],
  ['mcp__git__*', 'git', 'status', true],
  ['mcp__git', 'github', 'status', false],
  ['mcp__git__*', 'github', 'status', false],
  ['mcp__git', 'git__hub', 'status', false],
  ['mcp__git__*', 'git__hub', 'status', false],
  ['mcp__git__hub', 'git', 'hub__x', false],
  ['mcp__*', 'git', 'status', false],
  ['git', 'git', 'status', false],
  ['*', 'git', 'status', false],
];
for (const [pattern, server, name, hits] of PATTERNS) {
  verifies('G2', `the rule ${pattern} ${hits ? 'holds' : 'does not hold'} for ${name} of ${server}`, () => {
    const target = tool(server, name);
    expect(effect({ mode: 'open', rules: { deny: [pattern] } }, target)).toBe(hits ? 'deny' : 'allow');
    expect(effect({ mode: 'strict', rules: { allow: [pattern] } }, target)).toBe(hits ? 'allow' : 'ask');
  });
}

verifies('G2', 'a rule against a tool holds when a collision has given the tool another public name', () => {
  const renamed = aTarget({ publicName: 'mcp__a__b__c_0123abcd', servers: ['a__b'], name: 'c' });
  expect(effect({ mode: 'open', rules: { deny: ['mcp__a__b__c'] } }, renamed)).toBe('deny');
  expect(effect({ mode: 'open', rules: { ask: ['mcp__a__b__c'] } }, renamed)).toBe('ask');
  expect(effect({ mode: 'strict', rules: { allow: ['mcp__a__b__c'] } }, renamed)).toBe('ask');
});

verifies('G2', 'a pool cannot be used to get around a rule of one of its servers', () => {
  for (const pattern of ['mcp__p__t', 'mcp__p', 'mcp__p__*', 'mcp__a', 'mcp__b__*', 'mcp__b__t']) {
    expect([pattern, effect({ mode: 'open', rules: { deny: [pattern] } }, pooled('t'))]).toEqual([pattern, 'deny']);
  }
  const denied: Written = { mode: 'open', servers: { b: { deniedTools: ['t'] } } };
  expect(effect(denied, pooled('t'))).toBe('deny');
});

verifies('G2', 'a rule about a tool holds when it stands in for another', () => {
  const equivalents = new Map([['b', { name: 'find', definition: {}, rename: {} }]]);
  const target = aTarget({ publicName: 'mcp__p__search', servers: ['a', 'b'], name: 'search', equivalents });
  const servers = (rules: ServerRules): Written => ({ mode: 'open', servers: { b: rules } });
  expect(effect(servers({ deniedTools: ['find'] }), target)).toBe('deny');
  expect(effect(servers({ deniedTools: ['search'] }), target)).toBe('allow');
  expect(effect(servers({ allowedTools: ['search'] }), target)).toBe('ask');
  expect(effect({ mode: 'open', rules: { deny: ['mcp__b__find'] } }, target)).toBe('deny');
});

verifies('G2', 'to allow a pool, the pool or all of its servers have to be allowed', () => {
  const allowed = (allow: string[]) => effect({ mode: 'strict', rules: { allow } }, pooled('t'));
  expect(allowed(['mcp__p'])).toBe('allow');
  expect(allowed(['mcp__p__t'])).toBe('allow');
  expect(allowed(['mcp__a', 'mcp__b'])).toBe('allow');
  expect(allowed(['mcp__a'])).toBe('ask');
  expect(effect({ mode: 'strict', servers: { a: { allowedTools: ['t'] } } }, pooled('t'))).toBe('ask');
});

verifies('G2', 'a tool outside allowedTools needs approval', () => {
  const servers = { s: { allowedTools: ['read', 'both'], deniedTools: ['both'] } };
  expect(effect({ mode: 'strict', servers }, tool('s', 'read'))).toBe('allow');
  expect(effect({ mode: 'open', servers }, tool('s', 'other'))).toBe('ask');
  expect(effect({ mode: 'open', servers }, tool('s', 'both'))).toBe('deny');
  expect(effect({ mode: 'open', servers }, tool('elsewhere', 'other'))).toBe('allow');
  expect(effect({ mode: 'open', servers: { s: { allowedTools: [] } } }, tool('s', 'read'))).toBe('ask');
});

verifies('G2', 'readPermission applies to read-only tools, writePermission to all others', () => {
  const servers = { s: { readPermission: 'allow', writePermission: 'deny' } } as const;
  expect(effect({ mode: 'strict', servers }, tool('s', 't', { readOnly: true }))).toBe('allow');
  expect(effect({ mode: 'open', servers }, tool('s', 't'))).toBe('deny');
});

verifies('G2', 'the mode decides if no rule matches', () => {
  const worries = [{ riskLevel: 'high' }, { destructive: true }, { requiresApproval: true }] as const;
  for (const facts of worries) expect(effect({}, tool('s', 't', facts))).toBe('ask');
  for (const facts of [{}, { readOnly: true }]) {
    expect(effect({}, tool('s', 't', facts))).toBe('allow');
    expect(effect({ mode: 'strict' }, tool('s', 't', facts))).toBe('ask');
  }
  for (const facts of worries) expect(effect({ mode: 'open' }, tool('s', 't', facts), { password: 'x' })).toBe('allow');
});

verifies('G6', 'names `approvals.sensitiveWords` as the rule only for a word that it added', () => {
  const policy = { ...policyOf({}), sensitiveWords: ['key'] };
  const ruleOf = (input: JsonObject) => decider(policy)(ada, tool('s', 't'), { input }).rule;
  expect(ruleOf({ fileKey: 1 })).toBe('approvals.sensitiveWords');
  expect(ruleOf({ apiKey: 1 })).toBe('mode guarded');
  const allowed = { ...policyOf({ rules: { allow: ['mcp__s__t'] } }), sensitiveWords: ['key'] };
  expect(decider(allowed)(ada, tool('s', 't'), { input: { key: 1 } }).effect).toBe('allow');
});

verifies('G6', 'in mode guarded sensitive arguments need approval, unless a rule allows the call', () => {
  expect(effect({}, tool('s', 't'), { apiKey: 'x' })).toBe('ask');
  expect(effect({}, tool('s', 't'), { name: 'x' })).toBe('allow');
  expect(effect({}, tool('s', 't', { readOnly: true }), { query: 'drop it' })).toBe('allow');
  expect(effect({}, tool('s', 't'), { query: 'drop it' })).toBe('ask');
  expect(effect({ rules: { allow: ['mcp__s'] } }, tool('s', 't'), { apiKey: 'x' })).toBe('allow');
});

verifies('G2', 'built-in tools that only read are allowed in every mode, unless a rule says otherwise', () => {
  const builtin = tool('filesystem', 'fs_read_file', { builtin: true, readOnly: true, riskLevel: 'low' });
  for (const mode of ['guarded', 'strict', 'open'] as const) {
    expect(effect({ mode }, builtin, { token: 'x' })).toBe('allow');
    expect(effect({ mode, rules: { ask: ['mcp__filesystem'] } }, builtin)).toBe('ask');
    expect(effect({ mode, rules: { deny: ['mcp__filesystem'] } }, builtin)).toBe('deny');
  }
  const writer = tool('filesystem', 'fs_write_file', { builtin: true });
  expect(effect({ mode: 'strict' }, writer)).toBe('ask');
  const namesake = tool('filesystem', 'fs_read_file', { readOnly: true });
  expect(effect({ mode: 'strict' }, namesake)).toBe('ask');
});

verifies('G2', 'a decision names its rule', () => {
  expect(decide({ rules: { deny: ['mcp__s__*'] } }, tool('s', 't')).rule).toBe('permissions.deny: mcp__s__*');
  expect(decide({ servers: { s: { deniedTools: ['t'] } } }, tool('s', 't')).rule).toBe(
    'mcpServers.s.permissions.deniedTools',
  );
  expect(decide({ mode: 'strict' }, tool('s', 't')).rule).toBe('mode strict');
});

verifies('G2', 'a server is not started when all of it is denied, and only then', () => {
  const denies = (pattern: string, server = 'git') => deniesServer(policyOf({ rules: { deny: [pattern] } }), server);
  expect([denies('mcp__git'), denies('mcp__git__*')]).toEqual([true, true]);
  expect([denies('mcp__git__status'), denies('mcp__git', 'github'), denies('git')]).toEqual([false, false, false]);
});

const name = fc.constantFrom('a', 'b', 'p', 'a__b', 't', 'b__t');
const pattern = fc.oneof(
  name.map((server) => `mcp__${server}`),
  name.map((server) => `mcp__${server}__*`),
  fc.tuple(name, name).map(([server, one]) => `mcp__${server}__${one}`),
);
const patterns = fc.array(pattern, { maxLength: 3 });
const answer = fc.option(fc.constantFrom(...EFFECTS), { nil: undefined });
const serverRules = fc
  .record({
    allowedTools: fc.option(fc.array(name)),
    deniedTools: fc.option(fc.array(name)),
    read: answer,
    write: answer,
  })
  .map(
    ({ allowedTools, deniedTools, read, write }): ServerRules => ({
      ...(allowedTools && { allowedTools }),
      ...(deniedTools && { deniedTools }),
      ...(read && { readPermission: read }),
      ...(write && { writePermission: write }),
    }),
  );
const written = fc.record({
  mode: fc.constantFrom('guarded', 'strict', 'open'),
  rules: fc.record({ allow: patterns, ask: patterns, deny: patterns }),
  servers: fc.dictionary(name, serverRules, { maxKeys: 3 }),
}) as fc.Arbitrary<Required<Written>>;
const facts = fc.record({
  readOnly: fc.boolean(),
  builtin: fc.boolean(),
  destructive: fc.boolean(),
  riskLevel: fc.constantFrom('low', 'medium', 'high'),
});
const target = fc
  .record({ servers: fc.uniqueArray(name, { minLength: 1, maxLength: 3 }), name, group: name, facts })
  .map(({ servers, name, group, facts }) => {
    const own = servers.length > 1 ? group : (servers[0] as string);
    return aTarget({
      publicName: `mcp__${own}__${name}`,
      servers: servers as [string, ...string[]],
      name,
      group: own,
      shownAs: name,
      facts,
    });
  });
const input = fc.constantFrom({}, { token: 'x' }, { text: 'delete' });
const strictness = (one: (typeof EFFECTS)[number]) => EFFECTS.length - EFFECTS.indexOf(one);

verifies('G2', 'a target that is denied without input is denied with any input', () => {
  fc.assert(
    fc.property(written, target, input, (policy, target, input) => {
      const [shown, called] = [effect(policy, target), effect(policy, target, input)];
      expect(shown === 'deny').toBe(called === 'deny');
      expect(strictness(called)).toBeGreaterThanOrEqual(strictness(shown));
    }),
    { numRuns: 1000 },
  );
});

verifies('G2', 'one more deny or ask rule never widens anything', () => {
  fc.assert(
    fc.property(written, target, pattern, fc.constantFrom('deny', 'ask'), (policy, target, pattern, kind) => {
      const rules = { ...policy.rules, [kind]: [...(policy.rules[kind] ?? []), pattern] };
      const narrowed = effect({ ...policy, rules }, target, {});
      // No mode denies, so a rule that asks is never milder than the mode it stands in for.
      expect(strictness(narrowed)).toBeGreaterThanOrEqual(strictness(effect(policy, target, {})));
    }),
    { numRuns: 1000 },
  );
});

const at = (uri: string, kind: Target['kind'] = 'resource') =>
  aTarget({ kind, publicName: uri, servers: ['s'], name: uri, facts: { readOnly: true, riskLevel: 'low' } });

verifies('G2', 'a resource outside of a present allowedResources is denied, and one inside allowed', () => {
  const written: Written = {
    mode: 'strict',
    servers: { s: { allowedResources: ['note://one', 'file:///docs/{+path}'] } },
  };
  expect(decide(written, at('note://one'))).toMatchObject({
    effect: 'allow',
    rule: 'mcpServers.s.permissions.allowedResources',
  });
  expect(effect(written, at('file:///docs/a/b.md'))).toBe('allow');
  expect(effect(written, at('file:///docs/{+path}', 'template'))).toBe('allow');
  for (const uri of ['note://two', 'file:///docs/../etc/passwd', 'file:///docs/%2e%2e/etc', 'file:///etc/passwd']) {
    expect([uri, effect({ ...written, mode: 'open' }, at(uri))]).toEqual([uri, 'deny']);
  }
  expect(effect({ mode: 'open', servers: { s: { allowedResources: [] } } }, at('note://one'))).toBe('deny');
  expect(effect({ mode: 'open', servers: { s: { allowedResources: [] } } }, tool('s', 't'))).toBe('allow');
});

verifies('G2', 'readPermission applies to resources and prompts, and tool lists do not', () => {
  const prompt = aTarget({
    kind: 'prompt',
    publicName: 'mcp__s__t',
    servers: ['s'],
    name: 't',
    facts: { readOnly: true },
  });
  for (const target of [at('note://one'), prompt]) {
    expect(effect({ servers: { s: { readPermission: 'deny' } } }, target)).toBe('deny');
    expect(effect({ servers: { s: { writePermission: 'deny' } } }, target)).toBe('allow');
    expect(effect({ servers: { s: { deniedTools: ['t', 'note://one'], allowedTools: [] } } }, target)).toBe('allow');
    expect(effect({ mode: 'strict' }, target)).toBe('ask');
    expect(effect({ mode: 'open', rules: { deny: ['mcp__s'] } }, target)).toBe('deny');
    expect(effect({}, target, { password: 'delete' })).toBe('allow');
  }
});

verifies('G2', 'a rule against a URI holds under its other name, and a tool rule matches no URI', () => {
  const renamed = { ...at('note://one'), publicName: 'heddle://s/note://one' };
  expect(effect({ mode: 'open', rules: { deny: ['note://one'] } }, renamed)).toBe('deny');
  expect(effect({ mode: 'strict', rules: { allow: ['mcp__git__status'] } }, at('mcp__git__status'))).toBe('ask');
});

verifies('G2', 'a tool of some capability sets is denied to all others, whatever the rules say', () => {
  const form = { form: true, url: false, sampling: false, samplingTools: false, roots: false };
  const target = { ...tool('s', 't'), onlyFor: new Set([1]) };
  const allowed = decider(policyOf({ mode: 'open', rules: { allow: ['mcp__s__t'] } }));
  const callers = [ada, { ...ada, capabilities: form }, { ...ada, capabilities: { ...form, roots: true } }];
  expect(callers.map((one) => allowed(one, target).effect)).toEqual(['deny', 'allow', 'deny']);
  const denied = decider(policyOf({ mode: 'open', rules: { deny: ['mcp__s'] } }));
  expect(denied({ ...ada, capabilities: form }, target).rule).toBe('permissions.deny: mcp__s');
});
