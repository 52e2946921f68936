import fc from 'fast-check';
import { expect } from 'vitest';
import { type GatewayUnderTest, gatewayUnderTest, OWNER } from '../../src/gateway/fixtures.ts';
import { verifies } from '../requirements.ts';
import { builtins, call, callsOf, postTo, servers, TOOL_NAMES, toolNamesOf } from '../servers/profile-servers.ts';

const spellingsOf = (server: string, name: string) => [
  `mcp__${server}__${name}`,
  `${server}.${name}`,
  name,
  `mcp__${server}__${name}`.toUpperCase(),
  ` mcp__${server}__${name}`,
  `mcp__${server}__${name} `,
  `mcp__${server}_${name}`,
  `${server}__${name}`,
  `${server}/${name}`,
];
const EVERYTHING = Object.entries(TOOL_NAMES).flatMap(([server, names]) => names.map((name) => ({ server, name })));
const SPELLINGS = [...new Set(EVERYTHING.flatMap(({ server, name }) => spellingsOf(server, name)))];

const matches = (pattern: string, value: string) =>
  new RegExp(
    `^${pattern
      .split('*')
      .map((part) => part.replace(/[.\\_]/g, '\\$&'))
      .join('.*')}$`,
  ).test(value);

/** Returns the expected tools of a profile, computed independently of the code under test. */
function expected({ servers: some, tools, exclude = [], categories }: ProfileRules): readonly string[] {
  const names = (pattern: string, server: string, name: string) => {
    if (pattern.startsWith('mcp__')) return matches(pattern, `mcp__${server}__${name}`);
    return pattern.includes('.') ? matches(pattern, `${server}.${name}`) : matches(pattern, name);
  };
  if (categories) return []; // The servers are not trusted, so the categories that they claim are in no profile.
  return EVERYTHING.filter(({ server, name }) => {
    const excluded = exclude.some((pattern) => names(pattern, server, name) || matches(pattern, name));
    if (excluded || (some && !some.some((pattern) => matches(pattern, server)))) return false;
    return !tools || tools.some((pattern) => names(pattern, server, name));
  }).map(({ server, name }) => `${server} ${name}`);
}

interface ProfileRules {
  readonly servers?: string[];
  readonly tools?: string[];
  readonly exclude?: string[];
  readonly categories?: string[];
  readonly naming?: string;
}

const PATTERNS = [
  'read',
  'read*',
  '*',
  'git.*',
  'git.log',
  '*.log',
  'mcp__git__*',
  'mcp__git__x__*',
  'mcp__*log',
  'files.g*',
  'm*',
  'g*',
];
const anyRules = fc.record(
  {
    servers: fc.subarray(['git', 'files', 'git*', 'none']),
    tools: fc.subarray(PATTERNS),
    exclude: fc.subarray(PATTERNS.filter((pattern) => pattern !== '*')),
    categories: fc.subarray(['reading', 'other']),
    naming: fc.constantFrom('full', 'bare'),
  },
  { requiredKeys: [] },
);

/** Tries every spelling of every name. Only allowed tools are found, and no error names another tool. */
async function tryAll(gateway: GatewayUnderTest, allowed: readonly string[]): Promise<void> {
  const post = postTo(gateway, 'p');
  const by = { ...OWNER, profile: 'p' };
  const hidden = hiddenFrom(allowed);
  for (const name of SPELLINGS) {
    const { json } = await call(post, name);
    const described = await gateway.heddle.catalog.describe(by, name, new AbortController().signal).then(
      ({ servers: [server], name: own }) => `${server} ${own}`,
      ({ code }) => code,
    );
    expect([...allowed, 'NAME_UNKNOWN', 'NAME_AMBIGUOUS']).toContain(described);
    if (described === 'NAME_UNKNOWN') expect(json).toHaveProperty('error');
    const tokens =
      JSON.stringify(json.error ?? '')
        .replaceAll(name, '')
        .match(/[\w.-]+/g) ?? [];
    expect(tokens.map((token) => token.replace(/\.$/, '')).filter((token) => hidden.has(token))).toEqual([]);
  }
}

/** Returns the spellings of the tools outside, except those that an allowed tool shares. */
function hiddenFrom(allowed: readonly string[]): ReadonlySet<string> {
  const isAllowed = ({ server, name }: (typeof EVERYTHING)[number]) => allowed.includes(`${server} ${name}`);
  const own = new Set(EVERYTHING.filter(isAllowed).map(({ name }) => name));
  const rest = EVERYTHING.filter((one) => !isAllowed(one));
  const spelled = rest.flatMap(({ server, name }) => spellingsOf(server, name).slice(0, 2));
  return new Set(spelled.filter((one) => !own.has(one)));
}

async function staysInside(rules: ProfileRules): Promise<void> {
  const world = servers();
  const config = { builtins, mode: 'open', profiles: { p: { ...rules } } };
  const gateway = await gatewayUnderTest({ servers: world, config });
  const allowed = expected(rules);
  const post = postTo(gateway, 'p');
  const listed = await toolNamesOf(post);
  expect(listed).toHaveLength(allowed.length);
  for (const name of listed) expect((await call(post, name)).json).not.toHaveProperty('error');
  expect(callsOf(world).toSorted()).toEqual(allowed.toSorted());
  await tryAll(gateway, allowed);
  expect(callsOf(world).filter((one) => !allowed.includes(one))).toEqual([]);
  await gateway.close();
}

verifies('P2', 'a profile lists, describes and calls exactly its own tools, by any spelling', () =>
  fc.assert(fc.asyncProperty(anyRules, staysInside), { numRuns: 25 }),
);
