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
