import { writeFile } from 'node:fs/promises';
import { describe, expect } from 'vitest';
import { within } from '../../test/limits.ts';
import { verifies } from '../../test/requirements.ts';
import type { Config, LoadedPolicy } from './config.ts';
import { machineWith } from './fixtures.ts';

const untrusted = { trust: async () => ({ trusts: () => false }) };
const rule = (name: string, more: object = {}) => ({ name, effect: 'deny', reason: 'It is so.', ...more });
const names = ({ policies = [] }: Config) => policies.map(({ name }) => name);
const errors = ({ problems }: Config) => problems.filter(({ level }) => level === 'error');

const YAML = `# Rules of the team
policies:
  - name: no production
    effect: deny
    tools: [mcp__db]
    when: args.database == "production"
    reason: Production is read by hand.
  - name: nights
    effect: ask
    when: |
      time.getHours() < 6 ||
        time.getHours() > 22
    reason: At night an operator looks.
`;

describe('policy files', () => {
  verifies(
    'G3',
    'combines the rules of heddle.json, YAML and JSON files of the project, the user and the organisation',
    async () => {
      const machine = await machineWith({
        'project/heddle.json': { policies: [rule('own')] },
        'project/.heddle/policies/team.yaml': YAML,
        'project/.heddle/policies/.hidden.yaml': 'policies: [',
        'project/.heddle/policies/notes.txt': 'no rules',
        'user/.heddle/policies/mine.json': { policies: [rule('mine')] },
        'user/.heddle/heddle.json': { policies: [rule('user')] },
        'etc/policies/corp.yml': 'policies:\n  - {name: corp, effect: ask, reason: So the organisation says.}\n',
      });
      const config = await machine.load();
      expect(config.problems).toEqual([]);
      expect(names(config).toSorted()).toEqual(['corp', 'mine', 'nights', 'no production', 'own', 'user']);
      expect(config.settings.policies.map(({ name }) => name)).toEqual(names(config));
      expect(config.settings.mode).toBe('guarded');
      const production = config.policies?.find(({ name }) => name === 'no production');
      expect(production?.at).toEqual({ file: machine.path('project/.heddle/policies/team.yaml'), line: 3, column: 5 });
      expect([...(production?.condition?.variables ?? [])]).toEqual(['args']);
    },
  );

  verifies('G3', 'reads only the policies of the organisation besides the file of --config', async () => {
    const machine = await machineWith({
      'project/one.json': {},
      'project/.heddle/policies/team.yaml': YAML,
      'etc/policies/corp.json': { policies: [rule('corp')] },
    });
    expect(names(await machine.load({ file: 'one.json' }))).toEqual(['corp']);
  });
});

describe('an invalid rule', () => {
  const at = (config: Config) => errors(config).map(({ at: place }) => [place?.line, place?.column]);

  verifies('G3', 'is reported with line, column and the closest name, and sets mode strict', async () => {
    const machine = await machineWith({
      'user/.heddle/heddle.json': { mode: 'open' },
      'project/.heddle/policies/team.yaml': YAML.replace('args.database', 'arg.database'),
    });
    const config = await machine.load();
    expect(errors(config)).toMatchObject([
      {
        message:
          '`when` of the policy no production is not valid: `arg` is not a variable. Until it is corrected, every external tool needs an approval.',
        fix: 'Did you mean `args`?',
        at: { line: 6, column: 11 },
      },
    ]);
    expect(config.settings.mode).toBe('strict');
    expect(names(config)).toEqual(['nights']);
  });

  verifies('G3', 'is located inside a block of YAML, a quoted text and JSON with escapes', async () => {
    const block = await machineWith({ 'project/.heddle/policies/a.yaml': YAML.replace('> 22', '> caler.id') });
    expect(at(await block.load())).toEqual([[12, 27]]);
    const quoted = 'policies:\n  - name: q\n    effect: deny\n    when: "kind == \\"x\\" && arg.x"\n    reason: r\n';
    expect(at(await (await machineWith({ 'project/.heddle/policies/a.yaml': quoted })).load())).toEqual([[4, 29]]);
    const json =
      '{"policies": [\n  {"name": "j", "effect": "deny", "reason": "r", "when": "kind == \\"x\\" && arg.x"}]}';
    expect(at(await (await machineWith({ 'project/heddle.json': json })).load())).toEqual([[2, 76]]);
  });

  verifies('G3', 'leaves the other rules of its file in force', async () => {
    const machine = await machineWith({
      'project/heddle.json': { policies: [rule('good'), { name: 'bad', effect: 'block', reason: 'x' }, rule('fine')] },
    });
    const config = await machine.load();
    expect(names(config)).toEqual(['good', 'fine']);
    expect(config.settings.mode).toBe('strict');
    expect(errors(config)).toHaveLength(1);
  });

  verifies('G3', 'sets mode strict even if a stronger file sets another mode', async () => {
    const machine = await machineWith({
      'project/heddle.json': { mode: 'open' },
      'user/.heddle/policies/mine.yaml': 'policies: [{name: x, effect: deny}]',
    });
    expect((await machine.load()).settings.mode).toBe('strict');
  });

  verifies('G3', 'with a tool pattern that can match nothing is reported with the pattern that was meant', async () => {
    const machine = await machineWith({
      'project/heddle.json': {
        permissions: { deny: ['files.delete'] },
        policies: [
          { ...rule('bare'), tools: ['echo'] },
          { ...rule('star'), tools: ['mcp__fi*'] },
        ],
        approvals: { rules: [{ name: 'two', tools: ['files.*'], stages: [{ approvers: ['role:owner'] }] }] },
      },
    });
    const config = await machine.load();
    const messages = errors(config).map(({ message }) => message);
    for (const meant of ['mcp__files__delete', 'mcp__echo', 'mcp__files__*']) {
      expect(messages).toContainEqual(expect.stringContaining(`(did you mean \`${meant}\`?).`));
    }
    expect(messages).toHaveLength(4);
    expect([config.settings.mode, config.hasInvalidRules]).toEqual(['strict', true]);
  });

  verifies('G3', 'reads arguments only for named tools or after has()', async () => {
    const machine = await machineWith({
      'project/heddle.json': {
        policies: [
          rule('all', { when: 'args.path == "/"' }),
          rule('named', { when: 'args.path == "/"', tools: ['mcp__files'] }),
          rule('tested', { when: 'has(args.path) && args.path == "/"' }),
        ],
      },
    });
    const config = await machine.load();
    expect(errors(config).map(({ message }) => message)).toEqual([
      expect.stringContaining('the rule has no `tools`: it would deny every other tool.'),
    ]);
    expect(names(config)).toEqual(['named', 'tested']);
  });

  verifies('G3', 'a name that is used twice is an error, and both rules count', async () => {
    const machine = await machineWith({
      'project/.heddle/policies/a.json': { policies: [rule('same')] },
      'user/.heddle/policies/b.json': { policies: [rule('same', { effect: 'ask' })] },
    });
    const config = await machine.load();
    expect(errors(config)).toMatchObject([
      { message: expect.stringContaining('The name same of a policy is used twice'), at: { line: 3 } },
    ]);
    expect(config.policies?.map(({ effect }) => effect)).toEqual(['ask', 'deny']);
    expect(config.settings.mode).toBe('strict');
  });

  verifies('G6', 'an approval rule that is invalid refuses calls that need an approval', async () => {
    const machine = await machineWith({ 'project/heddle.json': { approvals: { rules: [{ name: 'x' }] } } });
    const config = await machine.load();
    expect(config.settings.approvals.unattended).toBe(true);
    expect(errors(config)[0]?.message).toContain('calls that need an approval are refused');
  });
});

describe('hostile files', () => {
  const lists = Array.from({ length: 9 }, (_, n) => `a${n + 1}: &a${n + 1} [${Array(9).fill(`*a${n}`).join(', ')}]`);
  const BAD: Readonly<Record<string, readonly [text: string, message: string]>> = {
    'an alias bomb': [`a0: &a0 [x]\n${lists.join('\n')}\npolicies: []\n`, 'anchors are not allowed'],
    'a tag': ['policies: !!js/function "x"\n', 'tags are not allowed'],
    'a repeated key': ['policies: []\npolicies: []\n', 'written twice'],
    'a list at the top': ['- name: x\n', 'write `policies:`'],
    'deep nesting': [`policies: ${'['.repeat(20_000)}`, 'is not valid YAML'],
    'two documents': ['policies: []\n---\npolicies: []\n', 'is not valid YAML'],
    'a forbidden name': ['__proto__: {}\n', '`__proto__` is not allowed'],
    'an unknown key': ['polices: []\n', 'Did you mean'],
    'an infinite number': ['policies: [.inf]\n', 'neither text'],
    'many unexpected brackets': ['}'.repeat(100_000), 'Unexpected flow-map-end'],
    'many tags': [`policies: ${'!a '.repeat(60_000)}`, 'tags are not allowed'],
    'a binary file': ['\u0000\u0001', 'does not contain a mapping'],
  };

  verifies(
    'G3',
    'more than two megabytes of policies in a folder: the rest is not read, and mode strict is set',
    async () => {
      const filler = `# ${'x'.repeat(900_000)}\n`;
      const files = ['a', 'b', 'c', 'd'].map((name) => [`project/.heddle/policies/${name}.yaml`, filler] as const);
      const config = await (await machineWith(Object.fromEntries(files))).load();
      expect(errors(config).map(({ message }) => message)).toMatchObject([
        expect.stringMatching(/c\.yaml and the files after it are not read/),
      ]);
      expect(config.settings.mode).toBe('strict');
    },
  );

  for (const [what, [text, message]] of Object.entries(BAD)) {
    verifies('G3', `${what} is a load error with its line, and sets mode strict`, async () => {
      const machine = await machineWith({ 'user/.heddle/policies/bad.yaml': text });
      const config = await machine.load();
      const [error] = errors(config);
      expect(`${error?.message} ${error?.fix}`).toContain(message);
      expect(error?.at?.line).toBeGreaterThan(0);
      expect(config.settings.mode).toBe('strict');
    });
  }

  verifies('G3', 'many keys are read in linear time', async () => {
    const text = `policies: []\n${Array.from({ length: 50_000 }, (_, index) => `k${index}: 1`).join('\n')}\n`;
    const machine = await machineWith({ 'user/.heddle/policies/keys.yaml': text });
    const config = await within(10_000, () => machine.load());
    expect(config.settings.mode).toBe('strict');
  });

  verifies('G3', 'rules beyond 10,000 are an error and do not count', async () => {
    const list = (from: number, count: number) => ({
      policies: Array.from({ length: count }, (_, index) => rule(`r${from + index}`, { tools: [`mcp__s${index}`] })),
    });
    const machine = await machineWith({
      'project/.heddle/policies/a.json': list(0, 10_000),
      'user/.heddle/policies/b.json': list(10_000, 1),
    });
    const config = await within(20_000, () => machine.load());
    expect(names(config)).toHaveLength(10_000);
    expect(names(config)).toContain('r10000'); // A project cannot remove a rule of the user.
    expect(errors(config)).toMatchObject([{ message: expect.stringContaining('There are 10001 policies') }]);
    expect(config.settings.mode).toBe('strict');
  });

  verifies('G3', 'the patterns of all rules together are bounded, also of invalid ones', async () => {
    const loaded = async (id: string, more: string) => {
      const when = (at: number) => `args.s.matches("${id}${at}[ab]{0,900}")${more}`;
      const policies = Array.from({ length: 200 }, (_, at) => rule(`r${at}`, { tools: ['mcp__s'], when: when(at) }));
      return (await machineWith({ 'user/.heddle/policies/a.json': { policies } })).load();
    };
    const config = await loaded('a', '');
    const { length } = names(config);
    expect(length).toBeGreaterThan(90);
    const message = expect.stringContaining(`policy r${length} is not valid: its patterns are too large`);
    expect(errors(config)[0]).toMatchObject({ message, at: { file: expect.stringContaining('a.json') } });
    const invalid = errors(await loaded('b', ' && kind')).filter((one) => one.message.includes('too large'));
    expect(invalid.length).toBeGreaterThan(80);
  });
});

describe('trust', () => {
  verifies('G3', 'the allow rules of a project count after trust, its deny and ask rules at once', async () => {
    const text = 'policies:\n  - {name: a, effect: allow, reason: r}\n  - {name: d, effect: deny, reason: r}\n';
    const machine = await machineWith({
      'project/.heddle/policies/team.yaml': text,
      'project/heddle.json': { policies: [rule('b', { effect: 'allow' }), rule('c', { effect: 'ask' })] },
      'user/.heddle/policies/mine.json': { policies: [rule('mine', { effect: 'allow' })] },
    });
    const config = await machine.load(untrusted);
    expect(names(config).toSorted()).toEqual(['c', 'd', 'mine']);
    expect(config.untrusted.map(({ thing }) => thing)).toEqual([
      'settings heddle.json',
      'settings .heddle/policies/team.yaml',
    ]);
    expect(names(await machine.load()).toSorted()).toEqual(['a', 'b', 'c', 'd', 'mine']);
  });

  verifies('G3', 'with managed policies no other rule may allow', async () => {
    const server = { command: 'true', permissions: { readPermission: 'allow' } };
    const machine = await machineWith({
      'etc/policies/corp.json': { policies: [rule('corp', { effect: 'allow', tools: ['mcp__a'] })] },
      'user/.heddle/heddle.json': {
        mode: 'open',
        permissions: { allow: ['mcp__b'], deny: ['mcp__c'] },
        policies: [rule('mine', { effect: 'allow' }), rule('no')],
        mcpServers: { a: server },
      },
    });
    const config = await machine.load();
    expect(names(config)).toEqual(['corp', 'no']);
    expect(config.onlyManagedAllow).toBe(true);
    expect(config.settings).toMatchObject({ mode: 'guarded', permissions: { allow: [], deny: ['mcp__c'] } });
    expect(config.problems.map(({ message }) => message)).toContainEqual(
      expect.stringContaining('The policy mine has no effect'),
    );
    expect(config.servers.has('a')).toBe(true);
  });
});

verifies('G3', 'the last valid rules of a file stay in force while it is invalid', async () => {
  const machine = await machineWith({ 'user/.heddle/policies/mine.yaml': YAML });
  const lastPolicies = new Map<string, readonly LoadedPolicy[]>();
  const file = machine.path('user/.heddle/policies/mine.yaml');
  const load = () => machine.load({ lastPolicies });
  expect(names(await load())).toEqual(['no production', 'nights']);
  await writeFile(file, 'policies: [');
  const broken = await load();
  expect(names(broken)).toEqual(['no production', 'nights']);
  expect(broken.settings.mode).toBe('strict');
  await writeFile(file, YAML.replace('args.database', 'arg.database').replace('nights', 'evenings'));
  expect(names(await load()).toSorted()).toEqual(['evenings', 'nights', 'no production']);
  await writeFile(file, 'policies: []');
  const corrected = await load();
  expect(names(corrected)).toEqual([]);
  expect(corrected.settings.mode).toBe('guarded');
});
