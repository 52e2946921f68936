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
