import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { LoadedPolicy } from '../../config/config.ts';
import type { Caller } from '../../core/call.ts';
import { ada, aTarget, grace, plainFacts } from '../../core/fixtures.ts';
import { hidesServer } from '../decide.ts';
import { decides } from '../fixtures.ts';
import { aRule } from './fixtures.ts';
import { allowsTools, matchesCallers, matchesTools } from './match.ts';
import { ruleIndex } from './rule-index.ts';
import { ruleSet } from './rule-set.ts';

const echo = aTarget();
const ci: Caller = { id: 'key:ci', roles: ['user'], via: 'gateway' };

describe('a static rule', () => {
  verifies('G3', 'denies and hides a tool from the callers that it names', () => {
    const decide = decides({ rules: [aRule({ tools: ['mcp__demo'], callers: ['key:*'] })] });
    expect(decide(ci, echo)).toEqual({ effect: 'deny', rule: 'policies: rule', reason: 'The rule says so.' });
    expect(decide(ada, echo).effect).toBe('allow');
    expect(decide(ci, aTarget({ publicName: 'mcp__other__echo', servers: ['other'] })).effect).toBe('allow');
  });

  verifies('G3', 'is cached per caller, so that the verdict of one caller is not that of another', () => {
    const decide = decides({ rules: [aRule({ when: 'caller.id == "key:ci" && tool.server == "demo"' })] });
    for (let round = 0; round < 3; round++) {
      expect(decide(ci, echo).effect).toBe('deny');
      expect(decide(ada, echo).effect).toBe('allow');
    }
    const byRole = decides({ rules: [aRule({ callers: ['role:user'] })] });
    expect(byRole({ ...ci, roles: ['approver'] }, echo).effect).toBe('allow');
    expect(byRole(ci, echo).effect).toBe('deny');
  });

  verifies('G3', 'looks at the facts, the annotations and the kind of call', () => {
    const definition = { name: 'echo', inputSchema: {}, annotations: { destructiveHint: true } };
    const rules = [aRule({ when: 'has(annotations.destructiveHint) && tool.riskLevel == "medium"' })];
    expect(decides({ rules })(ada, aTarget({ definition })).effect).toBe('deny');
    expect(decides({ rules })(ada, echo).effect).toBe('allow');
    const onKind = decides({ rules: [aRule({ when: 'kind == "completion"' })] });
    const prompt = aTarget({ kind: 'prompt', publicName: 'mcp__demo__greet', name: 'greet' });
    expect(onKind(ada, prompt).effect).toBe('allow');
    expect(onKind(ada, prompt, { kind: 'completion', input: {} }).effect).toBe('deny');
  });

  verifies('G3', 'combines with permissions: deny over ask over allow, and any of them over the mode', () => {
    const allow = aRule({ name: 'a', effect: 'allow', tools: ['mcp__demo'] });
    const ask = aRule({ name: 'b', effect: 'ask' });
    expect(decides({ mode: 'strict', rules: [allow] })(ada, echo).effect).toBe('allow');
    expect(decides({ rules: [allow, ask] })(ada, echo)).toMatchObject({ effect: 'ask', rule: 'policies: b' });
    expect(decides({ rules: [allow], permissions: { ask: ['mcp__demo'] } })(ada, echo).effect).toBe('ask');
    expect(decides({ rules: [ask], permissions: { deny: ['mcp__demo'] } })(ada, echo).effect).toBe('deny');
    const builtIn = aTarget({ facts: { builtin: true, readOnly: true } });
    expect(decides({ rules: [ask] })(ada, builtIn).effect).toBe('ask');
    expect(decides({ rules: [aRule()] })(ada, builtIn).effect).toBe('deny');
  });

  verifies('G3', 'allows nothing while another rule is invalid, because that may be one that denies', () => {
    const allow = aRule({ name: 'a', effect: 'allow', tools: ['mcp__demo'] });
    const policy = { mode: 'strict', rules: [allow], permissions: { allow: ['mcp__demo'] } } as const;
    expect(decides(policy)(ada, echo).effect).toBe('allow');
    expect(decides({ ...policy, hasInvalidRules: true })(ada, echo)).toMatchObject({
      effect: 'ask',
      rule: 'mode strict',
    });
    const builtIn = aTarget({ facts: { builtin: true, readOnly: true } });
    expect(decides(policy)(ada, builtIn).effect).toBe('allow');
    expect(decides({ ...policy, hasInvalidRules: true })(ada, builtIn).effect).toBe('ask');
  });

  verifies('G3', 'denies a call if its condition fails, whatever its effect is, and names rule and cause', () => {
    const decide = decides({ rules: [aRule({ name: 'lax', effect: 'allow', when: 'annotations.title == "x"' })] });
    expect(decide(ada, echo)).toEqual({
      effect: 'deny',
      rule: 'policies: lax',
      reason: 'The condition of the rule lax failed: `annotations.title` does not exist.',
    });
  });

  verifies('G3', 'hides a whole server that it denies to a caller', () => {
    const rules = [aRule({ tools: ['mcp__demo__*'], callers: ['role:user'] })];
    const policy = {
      mode: 'guarded' as const,
      servers: new Map(),
      rules,
      permissions: { allow: [], ask: [], deny: [] },
    };
    expect(hidesServer(policy, ada, 'demo')).toBe(true);
    expect(hidesServer(policy, grace, 'demo')).toBe(false);
    expect(hidesServer({ ...policy, rules: [aRule({ tools: ['mcp__demo'], shadow: true })] }, ada, 'demo')).toBe(false);
    const conditional = [aRule({ tools: ['mcp__demo'], when: 'args.?n.orValue(0) > 1' })];
    expect(hidesServer({ ...policy, rules: conditional }, ada, 'demo')).toBe(false);
  });
});

describe('a dynamic rule', () => {
  const onPath = aRule({ tools: ['mcp__demo__echo'], when: 'args.path.startsWith("/etc")' });

  verifies('G3', 'denies calls by their arguments and never hides the tool', () => {
    const decide = decides({ rules: [onPath] });
    expect(decide(ada, echo).effect).toBe('allow');
    expect(decide(ada, echo, { input: { path: '/etc/passwd' } })).toMatchObject({
      effect: 'deny',
      rule: 'policies: rule',
    });
    expect(decide(ada, echo, { input: { path: '/srv' } }).effect).toBe('allow');
    expect(decide(ada, echo, { input: {} }).reason).toContain('`args.path` does not exist');
  });

  verifies('G3', 'looks at the labels of the session and at the time', () => {
    const onTaint = decides({ rules: [aRule({ effect: 'ask', when: '"private" in taint && tool.openWorld' })] });
    expect(onTaint(ada, echo, { input: {}, taint: ['private'] }).effect).toBe('ask');
    expect(onTaint(ada, echo, { input: {} }).effect).toBe('allow');
    const onTime = decides({ rules: [aRule({ when: 'time.getHours() < 6' })] });
    expect(onTime(ada, echo, { input: {}, time: Date.UTC(2026, 0, 1, 3) }).effect).toBe('deny');
    expect(onTime(ada, echo, { input: {}, time: Date.UTC(2026, 0, 1, 12) }).effect).toBe('allow');
    expect(onTime(ada, echo).effect).toBe('allow');
  });

  verifies('G3', 'allows a call that the mode would ask about, and none that a rule asks about', () => {
    const allow = aRule({ effect: 'allow', tools: ['mcp__demo'], when: 'args.n < 5' });
    expect(decides({ mode: 'strict', rules: [allow] })(ada, echo, { input: { n: 1 } }).effect).toBe('allow');
    expect(decides({ mode: 'strict', rules: [allow] })(ada, echo, { input: { n: 9 } }).effect).toBe('ask');
    const asked = decides({ rules: [allow], permissions: { ask: ['mcp__demo'] } });
    expect(asked(ada, echo, { input: { n: 1 } }).effect).toBe('ask');
    expect(decides({ rules: [allow] })(ada, echo, { input: { n: 9, password: 'x' } }).rule).toBe('mode guarded');
  });

  verifies('G3', 'never widens what the static half denies', () => {
    const effects = fc.constantFrom('allow', 'ask', 'deny');
    const when = fc.constantFrom(undefined, 'args.?n.orValue(0) > 1', 'caller.id == "ada"', 'time.getHours() > 3');
    const aRuleAtRandom = fc.record({ effect: effects, when, shadow: fc.boolean() });
    fc.assert(
      fc.property(fc.array(aRuleAtRandom, { maxLength: 5 }), fc.integer({ min: 0, max: 3 }), (found, n) => {
        const rules = found.map(({ effect, when: condition, shadow }, index) =>
          aRule({ name: `r${index}`, effect, shadow, ...(condition !== undefined && { when: condition }) }),
        );
        const decide = decides({ rules });
        const isDenied = decide(ada, echo).effect === 'deny';
        expect(!isDenied || decide(ada, echo, { input: { n } }).effect === 'deny').toBe(true);
      }),
    );
  });
});

verifies(
  'G3',
  'bounds the steps of rules about the tools of a server together, and records each rule on trial once',
  () => {
    const tools = Array.from({ length: 100 }, (_, at) => aTarget({ publicName: `mcp__demo__t${at}`, name: `t${at}` }));
    const method = aTarget({ kind: 'extension', publicName: 'mcp__demo__acme/export', name: 'acme/export', tools });
    const when = 'tool.openWorld && args.list.exists(one, one == "x")';
    const input = { list: Array.from({ length: 5000 }, (_, at) => at) };
    const decide = decides({ rules: [aRule({ when })] });
    expect(decide(ada, { ...method, tools: tools.slice(0, 2) }, { input }).effect).toBe('ask');
    expect(decide(ada, method, { input }).reason).toContain('it takes too many steps');
    const onTrial = decides({ rules: [aRule({ when, shadow: true })] });
    expect(onTrial(ada, method, { input: { list: ['x'] } }).shadow).toEqual([
      { effect: 'deny', rule: 'policies: rule' },
    ]);
  },
);

verifies('G3', 'bounds the steps of all rules together: the rule that has none left denies', () => {
  const when = 'args.list.all(x, x >= 0) && args.list.all(x, x < 0)';
  const rules = Array.from({ length: 200 }, (_, index) => aRule({ name: `r${index}`, tools: ['mcp__demo'], when }));
  const input = { list: Array.from({ length: 5000 }, (_, index) => index) };
  const few = decides({ rules: rules.slice(0, 5) });
  expect(few(ada, echo, { input }).effect).toBe('allow');
  expect(decides({ rules })(ada, echo, { input }).reason).toContain('it takes too many steps');
  expect(few(ada, echo, { input }).effect).toBe('allow');
  const onTrial = rules.map((rule) => ({ ...rule, name: `s${rule.name}`, shadow: true }));
  expect(decides({ rules: [...onTrial, ...rules.slice(0, 5)] })(ada, echo, { input }).effect).toBe('allow');
});

describe('a rule in shadow mode', () => {
  verifies('G3', 'has no effect, and its verdict is part of the decision', () => {
    const rules = [
      aRule({ name: 'static', shadow: true }),
      aRule({ name: 'args', effect: 'ask', shadow: true, tools: ['mcp__demo'], when: 'args.n > 1' }),
    ];
    const decide = decides({ rules });
    expect(decide(ada, echo)).toMatchObject({
      effect: 'allow',
      shadow: [{ effect: 'deny', rule: 'policies: static' }],
    });
    expect(decide(ada, echo, { input: { n: 2 } }).shadow).toEqual([
      { effect: 'deny', rule: 'policies: static' },
      { effect: 'ask', rule: 'policies: args' },
    ]);
    expect(decide(ada, echo, { input: {} }).shadow?.[1]).toEqual({ effect: 'deny', rule: 'policies: args' });
  });
});

verifies('G3', 'gives the verdict of each rule, those that do not match included', () => {
  const rules = [
    aRule({ name: 'other', tools: ['mcp__other'] }),
    aRule({ name: 'args', tools: ['mcp__demo'], when: 'args.n > 1' }),
    aRule({ name: 'fine', effect: 'ask' }),
  ];
  const verdicts = ruleSet(rules)?.verdicts({ caller: ada, target: echo, kind: 'tool', sent: { input: {} } });
  expect(verdicts?.map(({ rule, effect, matches }) => [rule, effect, matches])).toEqual([
    ['policies: other', 'deny', 'no'],
    ['policies: args', 'deny', 'error'],
    ['policies: fine', 'ask', 'yes'],
  ]);
});

verifies('G2', 'a profile may have a stricter mode, and no laxer one', () => {
  const profile = { naming: 'full', exposure: 'direct', permissions: { allow: [], ask: [], deny: [] } } as const;
  const inProfile = (mode: 'guarded' | 'strict' | 'open', own: 'guarded' | 'strict' | 'open') =>
    decides({ mode, profiles: new Map([['p', { ...profile, mode: own }]]) })({ ...ada, profile: 'p' }, echo).rule;
  expect(inProfile('guarded', 'strict')).toBe('mode strict');
  expect(inProfile('strict', 'open')).toBe('mode strict');
  expect(inProfile('open', 'guarded')).toBe('mode guarded');
});

verifies('G3', 'finds the same rules with the index as by trying each', () => {
  const patterns = fc.constantFrom(
    'mcp__demo',
    'mcp__demo__*',
    'mcp__demo__echo',
    'mcp__demo__say',
    'mcp__x',
    'mcp__pool',
    'mcp__pool__say',
  );
  const rule = fc.record({
    effect: fc.constantFrom('allow', 'ask', 'deny'),
    tools: fc.array(patterns, { minLength: 1 }),
  });
  const targets = [
    echo,
    aTarget({ publicName: 'mcp__demo__say', shownAs: 'say', group: 'demo' }),
    aTarget({ publicName: 'mcp__pool__echo', servers: ['demo', 'x'], group: 'pool' }),
    aTarget({ kind: 'resource', publicName: 'file:///a', name: 'file:///a' }),
  ];
  fc.assert(
    fc.property(fc.array(rule, { maxLength: 6 }), (found) => {
      const rules: LoadedPolicy[] = found.map(({ effect, tools }, index) =>
        aRule({ name: `r${index}`, effect, tools }),
      );
      const indexed = ruleIndex(rules, undefined);
      for (const target of targets) {
        const tried = rules.filter(({ effect, tools = [] }) =>
          effect === 'allow' ? allowsTools(tools, target) : matchesTools(tools, target),
        );
        expect(indexed(target)).toEqual(tried);
      }
    }),
  );
});

verifies('G3', 'names callers by role, id, pattern and as the user of this machine', () => {
  expect(matchesCallers(['role:user'], ci)).toBe(true);
  expect(matchesCallers(['key:c*'], ci)).toBe(true);
  expect(matchesCallers(['owner'], { id: 'local:grace', roles: ['owner'] })).toBe(true);
  expect(matchesCallers(['owner'], { id: 'local:grace', roles: ['user'] })).toBe(false);
  expect(matchesCallers(['role:owner', 'key:cd'], ci)).toBe(false);
  expect(matchesCallers(['role:user'], { id: 'role:user', roles: ['auditor'] })).toBe(false);
});

verifies('G3', 'a rule of an organisation sees facts that settings of the user do not make milder', () => {
  const milder = { readOnly: true, destructive: false, forManagedRules: { ...plainFacts, destructive: true } };
  const target = aTarget({ facts: milder });
  const rule = aRule({ effect: 'ask', when: 'tool.destructive && !tool.readOnly' });
  expect(decides({ rules: [rule] })(ada, target).effect).toBe('allow');
  const managed = { ...rule, scope: 'enterprise' } as const;
  const both = decides({ rules: [aRule({ when: 'tool.destructive' }), managed] });
  for (const sent of [undefined, { kind: 'tool', input: {} } as const]) {
    expect(both(ada, target, sent)).toMatchObject({ effect: 'ask', rule: 'policies: rule' });
  }
  const dynamic = {
    ...aRule({ effect: 'ask', when: 'tool.destructive && has(args.x)' }),
    scope: 'enterprise',
  } as const;
  expect(decides({ rules: [dynamic] })(ada, target, { kind: 'tool', input: { x: 1 } }).effect).toBe('ask');
});
