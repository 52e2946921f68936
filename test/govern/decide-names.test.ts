import { expect } from 'vitest';
import { configSchema } from '../../src/config/schema/schema.ts';
import { ada, aTarget } from '../../src/core/fixtures.ts';
import type { Policy } from '../../src/govern/decide.ts';
import { decides } from '../../src/govern/fixtures.ts';
import { verifies } from '../requirements.ts';

type Target = ReturnType<typeof aTarget>;
interface Written {
  readonly mode: Policy['mode'];
  readonly rules?: Partial<Policy['permissions']>;
  readonly servers?: Readonly<Record<string, { readonly deniedTools: string[] }>>;
}
const effect = ({ mode, rules = {}, servers = {} }: Written, target: Target) =>
  decides({ mode, permissions: rules, servers: new Map(Object.entries(servers)) })(ada, target).effect;

const shownAsDelete = (publicName: string, servers: [string, ...string[]] = ['fs'], group = 'fs') =>
  aTarget({ publicName, servers, name: 'rm', group, shownAs: 'delete' });

verifies('G2', 'a rule by the configured name of a tool holds, whatever else its server lists', () => {
  for (const target of [shownAsDelete('mcp__fs__delete'), shownAsDelete('mcp__fs__delete_0123abcd')]) {
    expect(effect({ mode: 'open', rules: { deny: ['mcp__fs__delete'] } }, target)).toBe('deny');
    expect(effect({ mode: 'open', rules: { ask: ['mcp__fs__delete'] } }, target)).toBe('ask');
    expect(effect({ mode: 'open', servers: { fs: { deniedTools: ['delete'] } } }, target)).toBe('deny');
  }
});

verifies('G2', 'a rule by the configured name of a tool holds for its pool', () => {
  const target = shownAsDelete('mcp__p__delete_0123abcd', ['fs', 'nas'], 'p');
  for (const pattern of ['mcp__fs__delete', 'mcp__nas__delete', 'mcp__p__delete', 'mcp__p']) {
    expect([pattern, effect({ mode: 'open', rules: { deny: [pattern] } }, target)]).toEqual([pattern, 'deny']);
  }
  const equivalents = new Map([['nas', { name: 'unlink', shownAs: 'erase', definition: {}, rename: {} }]]);
  const standIn = { ...target, equivalents };
  const denies = (pattern: string) => effect({ mode: 'open', rules: { deny: [pattern] } }, standIn);
  expect(['mcp__nas__unlink', 'mcp__nas__erase', 'mcp__nas__delete'].map(denies)).toEqual(['deny', 'deny', 'allow']);
});

verifies('G2', 'a pool is allowed with the tools that configuration renames', () => {
  const target = shownAsDelete('mcp__p__delete', ['fs', 'nas'], 'p');
  expect(effect({ mode: 'strict', rules: { allow: ['mcp__p'] } }, target)).toBe('allow');
});

const split = aTarget({ publicName: 'mcp__a__b__c', servers: ['a'], name: 'b__c', group: 'a', shownAs: 'b__c' });

verifies(
  'G2',
  'an allow rule by name means the server with the longest matching name, even if it is not connected',
  () => {
    const among = (groups: readonly string[], effect = 'allow') =>
      decides({ mode: 'strict', permissions: { [effect]: ['mcp__a__b__c'] }, groups: new Set(groups) })(ada, split)
        .effect;
    expect([among(['a', 'a__b']), among(['a', 'x__b']), among(['a'])]).toEqual(['ask', 'allow', 'allow']);
    expect([among(['a', 'a__b'], 'deny'), among(['a', 'a__b'], 'ask')]).toEqual(['deny', 'ask']);
    const servers = new Map([['a', { allowedTools: ['b__c'] }]]);
    expect(decides({ mode: 'strict', servers, groups: new Set(['a', 'a__b']) })(ada, split).effect).toBe('allow');
  },
);

verifies('G2', 'an allow rule of a profile means the server with the longest matching name', () => {
  const written = { profiles: { p: { mode: 'strict', permissions: { allow: ['mcp__a__b__c'] } } } };
  const profiles = new Map(Object.entries(configSchema.parse(written).profiles)) as NonNullable<Policy['profiles']>;
  const among = (...groups: readonly string[]) =>
    decides({ mode: 'open', profiles, groups: new Set(groups) })({ ...ada, profile: 'p' }, split).effect;
  expect([among('a', 'a__b'), among('a')]).toEqual(['ask', 'allow']);
  const strict = decides({ mode: 'strict', profiles, groups: new Set(['a']) });
  expect(strict({ ...ada, profile: 'p' }, split).effect).toBe('ask'); // Callers choose the profile by its path.
});
