import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { defaultSettings } from '../config/schema/default-settings.ts';
import { configSchema, type Profile, type SdkEntry, type Settings } from '../config/schema/schema.ts';
import { serverEntry } from '../config/schema/server-schema.ts';
import type { Caller, Target } from '../core/call.ts';
import { aTarget } from '../core/fixtures.ts';
import { hidesServer, policyOf } from './decide.ts';
import { decides } from './fixtures.ts';
import { isInProfile, mayHaveOf } from './profile.ts';

const profile = (said: object): Profile => configSchema.parse({ profiles: { p: said } }).profiles.p as Profile;

const tool = (server: string, name: string, more: Partial<Target> = {}): Target =>
  aTarget({ publicName: `mcp__${server}__${name}`, servers: [server], name, ...more });

const ofPool = tool('db', 'query', { servers: ['pg-1', 'pg-2'], group: 'db', shownAs: 'query' });

describe('a profile has', () => {
  it.each<[string, object, Target, boolean]>([
    ['everything when it names nothing', {}, tool('git', 'log'), true],
    ['the servers it names', { servers: ['git'] }, tool('git', 'log'), true],
    ['no server that only begins the same', { servers: ['git'] }, tool('github', 'log'), false],
    ['servers by pattern', { servers: ['git*'] }, tool('github', 'log'), true],
    ['a tool by its public name', { tools: ['mcp__git__log'] }, tool('git', 'log'), true],
    ['tools by server', { tools: ['mcp__git__*'] }, tool('git', 'log'), true],
    ['a tool as people write it', { tools: ['git.log'] }, tool('git', 'log'), true],
    ['a tool by its own name', { tools: ['log'] }, tool('git', 'log'), true],
    ['tools by a pattern of their own names', { tools: ['get_*'] }, tool('git', 'get_log'), true],
    ['nothing that only has the name somewhere', { tools: ['log'] }, tool('git', 'blog'), false],
    ['nothing for the beginning of a server’s name', { tools: ['g*'] }, tool('git', 'log'), false],
    ['nothing for how all public names begin', { tools: ['m*'] }, tool('git', 'log'), false],
    ['no tool that calls itself another server’s', { tools: ['git.*'] }, tool('evil', 'git.log'), false],
    ['no tool that calls itself a public name', { tools: ['mcp__git__*'] }, tool('evil', 'mcp__git__log'), false],
    ['only what all its lists name', { servers: ['git'], tools: ['log'] }, tool('svn', 'log'), false],
    ['nothing where a list is empty', { tools: [] }, tool('git', 'log'), false],
    ['no excluded tool', { exclude: ['git.log'] }, tool('git', 'log'), false],
    ['no tool excluded by its own name', { exclude: ['log'] }, tool('git', 'log'), false],
    [
      'no tool excluded by its server’s name for it',
      { exclude: ['mcp__git__log'] },
      tool('git', 'log', { publicName: 'mcp__git__history' }),
      false,
    ],
    ...['delete', 'del*', 'fs.delete', 'mcp__fs__delete', 'rm', 'fs.rm', 'mcp__fs__rm'].map(
      (pattern): [string, object, Target, boolean] => [
        `no tool excluded as ${pattern}, when configuration shows it under another name`,
        { exclude: [pattern] },
        tool('fs', 'rm', { publicName: 'mcp__fs__delete_0123abcd', group: 'fs', shownAs: 'delete' }),
        false,
      ],
    ),
    ...['db.query', 'db.*', 'mcp__db__query', 'mcp__db__*'].flatMap((pattern): [string, object, Target, boolean][] => [
      [`no tool of a pool that is excluded as ${pattern}`, { exclude: [pattern] }, ofPool, false],
      [`a tool of a pool that it names as ${pattern}`, { tools: [pattern] }, ofPool, true],
    ]),
    [
      'a tool as people write the name that configuration gave it',
      { tools: ['fs.delete'] },
      tool('fs', 'rm', { publicName: 'mcp__fs__delete', group: 'fs', shownAs: 'delete' }),
      true,
    ],
    ['other tools of the same server', { exclude: ['git.log'] }, tool('git', 'show'), true],
    ['a pool when it has each server', { servers: ['a', 'b'] }, tool('pool', 'x', { servers: ['a', 'b'] }), true],
    ['no pool of which it lacks one server', { servers: ['a'] }, tool('pool', 'x', { servers: ['a', 'b'] }), false],
    ['no pool of which one is excluded', { exclude: ['b.x'] }, tool('pool', 'x', { servers: ['a', 'b'] }), false],
    [
      'a resource by its URI',
      { tools: ['file:///docs/*.md'] },
      tool('fs', 'file:///docs/a.md', { kind: 'resource', publicName: 'heddle://fs/x' }),
      true,
    ],
    [
      'no excluded resource, however it is spelled',
      { exclude: ['file:///etc/*.conf'] },
      tool('fs', 'file:///etc/a.conf', { kind: 'resource', publicName: 'heddle://fs/x' }),
      false,
    ],
  ])('P2: %s', (_what, said, target, expected) => {
    expect(isInProfile(profile(said), target)).toBe(expected);
  });

  verifies('P2', 'the categories it names, whole', () => {
    const within = (category: string) => {
      const target = tool('git', 'log');
      return isInProfile(profile({ categories: ['code'] }), { ...target, facts: { ...target.facts, category } });
    };
    expect(['code', 'codes', 'Code', 'uncategorized'].map(within)).toEqual([true, false, false, false]);
  });
});

const SERVERS = ['a', 'b', 'a__b', 'ab'];
const NAMES = ['x', 'y', 'b__x', 'a.x', 'mcp__a__x'];
const PATTERNS = [
  '*',
  'x',
  'x*',
  'a.*',
  'a.x',
  '*.x',
  'mcp__*',
  'mcp__a__*',
  'mcp__a__b__*',
  'mcp__a__x',
  'a*',
  'm*',
  'b.y',
  'q.*',
];
const some = (of: readonly string[]) => fc.option(fc.subarray([...of]), { nil: undefined });
const anyProfile = fc.record(
  { servers: some([...SERVERS, 'a*', '*', 'q']), tools: some(PATTERNS), exclude: some(PATTERNS) },
  { requiredKeys: [] },
);

verifies('P2', 'a server with a tool in a profile is never hidden from the profile', () => {
  fc.assert(
    fc.property(anyProfile, fc.constantFrom(...SERVERS), fc.constantFrom(...NAMES), (said, server, name) => {
      const given = profile(JSON.parse(JSON.stringify(said)));
      if (isInProfile(given, tool(server, name))) expect(mayHaveOf(given, server)).toBe(true);
    }),
    { numRuns: 3000 },
  );
});

verifies('P2', 'a server without anything in a profile is hidden from that profile only', () => {
  const by = (name?: string): Caller => ({ id: 'x', roles: ['user'], via: 'gateway', ...(name && { profile: name }) });
  const profiles = {
    one: { servers: ['git'] },
    some: { tools: ['git.log', 'mcp__svn__*'] },
    denying: { permissions: { deny: ['mcp__git'] } },
    excluding: { exclude: ['git.*'] },
  };
  const { profiles: known, permissions, mode } = configSchema.parse({ profiles });
  const policy = { mode, permissions, servers: new Map(), profiles: new Map(Object.entries(known)) };
  const hidden = (profileName: string | undefined) =>
    ['git', 'svn', 'hg'].filter((server) => hidesServer(policy, by(profileName), server));
  expect(hidden(undefined)).toEqual([]);
  expect(hidden('one')).toEqual(['svn', 'hg']);
  expect(hidden('some')).toEqual(['hg']);
  expect(hidden('denying')).toEqual(['git']);
  expect(hidden('excluding')).toEqual(['git']);
  expect(hidden('gone')).toEqual(['git', 'svn', 'hg']);
});

verifies('P2', 'the servers of a pool are not hidden from a profile that has a tool of the pool', () => {
  const profiles = {
    shown: { tools: ['mcp__db__query'] },
    written: { tools: ['db.query'] },
    other: { tools: ['x.y'] },
  };
  const settings = { ...defaultSettings('/'), profiles: configSchema.parse({ profiles }).profiles };
  const entry = serverEntry.parse({ type: 'sdk', name: 'pg', pool: 'db' }) as SdkEntry;
  const policy = policyOf(settings, new Map([['pg', { entry }]]));
  const hidden = Object.keys(profiles).filter((profile) =>
    hidesServer(policy, { id: 'x', roles: ['user'], via: 'gateway', profile }, 'pg'),
  );
  expect(hidden).toEqual(['other']);
});

describe('rules of a profile', () => {
  const target = tool('git', 'push');
  const effectOf = (globally: object, said: object | undefined, mode: Settings['mode'] = 'strict') => {
    const profiles = new Map(said ? [['p', profile({ mode: 'strict', permissions: said })]] : []);
    const decide = decides({ permissions: globally, mode, profiles });
    return decide({ id: 'x', roles: ['user'], via: 'gateway', profile: 'p' }, target).effect;
  };
  const rule = (effect: string) => ({ [effect]: ['mcp__git__push'] });

  verifies('P2', 'and those for all go together: deny before ask before allow', () => {
    const effects = ['allow', 'ask', 'deny'];
    for (const globally of effects) {
      for (const own of effects) {
        const strictest = effects[Math.max(effects.indexOf(globally), effects.indexOf(own))];
        expect([globally, own, effectOf(rule(globally), rule(own))]).toEqual([globally, own, strictest]);
      }
    }
    expect([effectOf({}, {}), effectOf(rule('allow'), {})]).toEqual(['ask', 'allow']);
  });

  verifies('P2', 'that allow lift the mode of the profile, and not that for all: callers choose their profile', () => {
    expect([effectOf({}, rule('allow')), effectOf({}, rule('allow'), 'open')]).toEqual(['ask', 'allow']);
    expect(effectOf({}, {}, 'open')).toBe('ask');
  });

  verifies('P2', 'of an unknown profile deny everything', () => {
    expect(effectOf(rule('allow'), undefined)).toBe('deny');
  });

  verifies('P2', 'do not reach callers of another profile, or of none, for the same tool and input', () => {
    const profiles = new Map([
      ['p', profile({ permissions: rule('deny') })],
      ['q', profile({})],
    ] as const);
    const decide = decides({ mode: 'open', profiles });
    const input = {};
    const by = (name?: string): Caller => ({
      id: 'x',
      roles: ['user'],
      via: 'gateway',
      ...(name && { profile: name }),
    });
    const effects = ['p', undefined, 'q', 'p', undefined].map((name) => decide(by(name), target, { input }).effect);
    expect(effects).toEqual(['deny', 'allow', 'allow', 'deny', 'allow']);
  });
});
