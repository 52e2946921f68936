import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { machineWith } from '../fixtures.ts';

verifies('G6', 'reports an approval rule that reads an argument of every tool', async () => {
  const stages = [{ approvers: ['role:owner'] }];
  const machine = await machineWith({
    'project/heddle.json': {
      approvals: {
        rules: [
          { name: 'large', when: 'args.amount > 100', stages },
          { name: 'tested', when: 'has(args.amount) && args.amount > 100', stages },
        ],
      },
    },
  });
  expect((await machine.load()).problems).toMatchObject([
    {
      message: expect.stringContaining('the approval rule large reads an argument'),
      fix: expect.stringContaining('has(args.name)'),
    },
  ]);
});

const DENY = { effect: 'deny', reason: 'x' };

verifies(
  'G6',
  'compiles the approval rules of the user though the patterns of a project use up the limit',
  async () => {
    const matches = 'args.a.matches("a{900}")';
    const pattern = (n: number) => `has(args.a) && ${Array(10).fill(matches).join(' && ')} && args.a != "${n}"`;
    const policies = Array.from({ length: 13 }, (_, n) => ({ name: `p${n}`, ...DENY, when: pattern(n) }));
    const when = pattern(99);
    const machine = await machineWith({
      'project/heddle.json': { policies },
      'user/.heddle/heddle.json': {
        approvals: { rules: [{ name: 'large', when, stages: [{ approvers: ['role:owner'] }] }] },
      },
    });
    const { problems, conditions } = await machine.load({ trust: async () => ({ trusts: () => false }) });
    const messages = problems.map(({ message }) => message).join('\n');
    expect(messages).toContain('of the policy p12 is not valid');
    expect(messages).not.toContain('of the approval rule');
    expect([...(conditions?.keys() ?? [])]).toEqual([when]);
  },
);

verifies('G3', 'warns of a policy or an approval rule that tests a path or a host as text', async () => {
  const rules = [
    {
      name: 'big',
      when: 'has(args.url) && args.url.endsWith(".example.com")',
      stages: [{ approvers: ['role:owner'] }],
    },
  ];
  const machine = await machineWith({
    'project/.heddle/policies/team.yaml': `policies:
  - name: team-only
    effect: deny
    reason: Only the folder of the team.
    when: |
      has(args.source) &&
        !args.source.startsWith('/team/')
  - name: safe
    effect: deny
    reason: Only the folder of the team.
    when: has(args.source) && !path.inside(args.source, '/team')
`,
    'user/.heddle/heddle.json': { approvals: { rules } },
  });
  const { problems, policies, settings } = await machine.load();
  expect(problems).toMatchObject([
    {
      level: 'warn',
      message: '`when` of the policy team-only may miss: it tests a path as text, and /team/../etc is another folder.',
      fix: 'Replace only this test with `path.inside(args.source, "/team")`.',
      at: { file: machine.path('project/.heddle/policies/team.yaml'), line: 7, column: 10 },
    },
    {
      level: 'warn',
      message: expect.stringContaining('of the approval rule big may miss: it tests a host as text'),
      fix: 'Replace only this test with `host.is(args.url, "*.example.com")`.',
      at: { file: machine.path('user/.heddle/heddle.json') },
    },
  ]);
  expect(policies?.map(({ name }) => name)).toEqual(['team-only', 'safe']);
  expect(settings.mode).toBe('guarded');
});
