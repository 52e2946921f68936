import { describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import type { Config } from './config.ts';
import { machineWith } from './fixtures.ts';

const STAGES = [{ approvers: ['role:approver'], need: 1 }];
const aRule = (name: string, more: object = {}) => ({ name, stages: STAGES, ...more });

/** Writes each rule on a line of its own: the first is on line 2. */
const fileOf = (rules: readonly object[]) =>
  `{ "approvals": { "rules": [\n${rules.map((one) => JSON.stringify(one)).join(',\n')}\n] } }`;

async function load(rules: readonly object[]) {
  return (await machineWith({ 'project/heddle.json': fileOf(rules) })).load();
}

const errorsOf = ({ problems }: Config) =>
  problems.flatMap(({ level, message, at }) =>
    level === 'error' ? [{ message, file: at?.file, line: at?.line }] : [],
  );

describe('an invalid approval rule', () => {
  const staged = (stage: object) => aRule('bad', { stages: [stage] });
  const BAD: Readonly<Record<string, readonly [object, string]>> = {
    'an approver of unknown form': [staged({ approvers: ['ops'] }), 'must be `role:<role>`'],
    'an unknown role': [staged({ approvers: ['role:boss'] }), 'must be `role:<role>`'],
    'no approver': [staged({ approvers: [] }), 'must have at least 1 item'],
    'need 0': [staged({ approvers: ['role:owner'], need: 0 }), 'must be at least 1'],
    'need NaN': [staged({ approvers: ['role:owner'], need: 'NaN' }), 'must be'],
    'need over its approvers': [staged({ approvers: ['key:a', 'key:b'], need: 3 }), 'is more than the 2 identities'],
    'need over its approvers, of which two are one person': [
      staged({ approvers: ['owner', 'local:ada'], need: 2 }),
      'is more than the 1 identity',
    ],
    'no stage': [aRule('bad', { stages: [] }), 'must have at least 1 item'],
    'an unknown field': [aRule('bad', { approver: 'x' }), 'is not a name Heddle knows'],
  };
  it.each(Object.entries(BAD))(
    'G6: with %s is reported with its line, and refuses calls',
    async (_, [bad, message]) => {
      const config = await load([aRule('good'), bad]);
      expect(errorsOf(config)[0]).toEqual({
        message: expect.stringContaining(message),
        file: expect.stringContaining('heddle.json'),
        line: 3,
      });
      expect(config.settings.approvals.unattended).toBe(true);
    },
  );

  verifies('G6', 'has enough approvers if a role is among them, or its need is met', async () => {
    const config = await load([
      aRule('a', { stages: [{ approvers: ['role:approver', 'key:a'], need: 5 }] }),
      aRule('b', { stages: [{ approvers: ['key:a', 'owner', 'https://id.example#ada'], need: 3 }] }),
    ]);
    expect(errorsOf(config)).toEqual([]);
  });

  verifies('G6', 'with an invalid condition is reported with line and column', async () => {
    const bad = aRule('bad', { when: 'args.n > 1 && arg.x' });
    const config = await load([aRule('good'), bad]);
    const [problem] = config.problems.filter(({ level }) => level === 'error');
    expect(problem).toMatchObject({
      message: expect.stringContaining('`when` of the approval rule bad is not valid: `arg` is not a variable.'),
      at: { line: 3, column: JSON.stringify(bad).indexOf('arg.x') + 1 },
    });
  });

  verifies('G6', 'with the name of another one is reported, also across files', async () => {
    const user = { approvals: { rules: [aRule('same')] } };
    const machine = await machineWith({
      'project/heddle.json': fileOf([aRule('one'), aRule('same'), aRule('one')]),
      'user/.heddle/heddle.json': user,
    });
    const config = await machine.load();
    const found = errorsOf(config).filter(({ message }) =>
      message.includes('of an approval rule is used twice, first at'),
    );
    expect(found.map(({ message }) => /name (\w+)/.exec(message)?.[1]).sort()).toEqual(['one', 'same']);
    expect(found.find(({ message }) => message.includes('name one'))?.line).toBe(4);
    expect(config.settings.approvals.rules).toHaveLength(4);
  });

  verifies('G6', 'is bounded: 10,000 rules are an error at their list', async () => {
    const config = await load(Array.from({ length: 10_000 }, (_, n) => aRule(`r${n}`)));
    expect(errorsOf(config)).toEqual([
      {
        message: expect.stringContaining('`approvals.rules` must have at most 1000 items'),
        file: expect.anything(),
        line: 1,
      },
    ]);
    expect(config.settings.approvals.unattended).toBe(true);
  });
});
