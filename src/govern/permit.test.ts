import { expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import type { Caller, ResolvedCall } from '../core/call.ts';
import { HeddleError } from '../core/errors.ts';
import { aCall, ada, answers, grace, text } from '../core/fixtures.ts';
import type { AuditRecord, Later } from '../store/audit-log.ts';
import { decides } from './fixtures.ts';
import { isSelfApproved, permit } from './permit.ts';
import { aRule } from './policy/fixtures.ts';
import type { Taints } from './policy/taints.ts';

/** Returns `permit` without a log. */
const permitting = (decide: ReturnType<typeof decides>) => permit({ decide, log: { append: () => {} } });

/** Returns a handler that permits a call and answers it; it rejects with the error of `permit`. */
const under = (decide: ReturnType<typeof decides>) => async (call: ResolvedCall) =>
  answers('done')(permitting(decide)(call));
const denying = under(decides({ permissions: { deny: ['mcp__demo__echo'] } }));

verifies('G2', 'passes an allowed call on', async () => {
  await expect(under(decides())(aCall())).resolves.toEqual(text('done'));
});

verifies('G2', 'refuses a denied call and names the rule', async () => {
  await expect(denying(aCall())).rejects.toMatchObject({
    code: 'PERMISSION_DENIED',
    message: expect.stringContaining('mcp__demo__echo'),
    fix: expect.stringContaining('permissions.deny: mcp__demo__echo'),
  });
});

/** Returns the decision that `permit` passes on. */
const decisionOn = (decide: ReturnType<typeof decides>, sent: Partial<ResolvedCall> = {}) =>
  permitting(decide)(aCall(sent)).decision;

verifies('G6', 'passes a call that needs an approval on, with the rule and the reason', () => {
  expect(decisionOn(decides({ permissions: { ask: ['mcp__demo'] } }))).toEqual({
    effect: 'ask',
    rule: 'permissions.ask: mcp__demo',
    reason: expect.any(String),
  });
  expect(decisionOn(decides(), { input: { password: 'x' } })).toMatchObject({ effect: 'ask' });
});

verifies('G6', 'asks for approval because of `_meta` and unknown parameters', () => {
  const reasonOf = (sent: Partial<ResolvedCall>) => decisionOn(decides(), sent).reason;
  expect(reasonOf({ meta: { 'example.com/apiKey': 'x' } })).toContain(
    'Its `_meta` looks sensitive: example.com/apiKey is named after “key”.',
  );
  expect(reasonOf({ extraParams: { options: { password: 'x' } } })).toContain('Its unknown parameters look sensitive');
  expect(reasonOf({ meta: { note: 'drop it' } })).toContain('a value contains “drop”');
  expect(decisionOn(decides(), { meta: { tenant: 'a' } }).effect).toBe('allow');
  expect(reasonOf({ meta: { secret: 'a' } })).toContain('`_meta`');
});

verifies('G2', 'counts an approval of the own call only from a caller at the CLI', () => {
  expect(isSelfApproved(aCall({ caller: grace, approved: 'self' }))).toBe(true);
  expect(isSelfApproved(aCall({ caller: grace }))).toBe(false);
  const others: readonly Caller[] = [
    ada,
    ...(['gateway', 'library', 'console', 'workflow', 'code'] as const).map((via) => ({ ...grace, via })),
  ];
  for (const caller of others) expect(isSelfApproved(aCall({ caller, approved: 'self' }))).toBe(false);
});

verifies('G2', 'refuses a denied call even if it is self-approved', async () => {
  const agreed = denying(aCall({ caller: grace, approved: 'self' }));
  await expect(agreed).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
});

verifies('G2', 'passes the decision on with the call', () => {
  const call = permitting(decides({ permissions: { allow: ['mcp__demo'] } }))(aCall());
  expect(call.decision).toMatchObject({ effect: 'allow', rule: 'permissions.allow: mcp__demo' });
});

/** Runs `permit` with a log; returns the records and the error code. */
function attempt(decide: ReturnType<typeof decides>, call: ResolvedCall) {
  const records: AuditRecord[] = [];
  const append = (record: Later<AuditRecord>) => records.push(typeof record === 'function' ? record() : record);
  try {
    permit({ decide, log: { append }, clock: () => 7 })(call);
    return { records };
  } catch (thrown) {
    return { records, code: HeddleError.from(thrown).code };
  }
}

verifies('G3', 'records a denied attempt with rule, roles, profile and sanitised arguments', () => {
  const call = aCall({ caller: { ...ada, profile: 'p' }, input: { path: '/x', password: 'hunter2' } });
  const profile = { naming: 'full', exposure: 'direct', permissions: { allow: [], ask: [], deny: [] } } as const;
  const rules = [aRule({ name: 'audit', shadow: true, effect: 'ask' }), aRule({ name: 'no' })];
  const { records, code } = attempt(decides({ rules, profiles: new Map([['p', profile]]) }), call);
  expect(code).toBe('PERMISSION_DENIED');
  expect(records).toMatchObject([
    {
      phase: 'intent',
      at: 7,
      caller: 'ada',
      name: 'mcp__demo__echo',
      detail: {
        decision: 'deny',
        rule: 'policies: no',
        roles: ['user'],
        profile: 'p',
        shadow: [{ effect: 'ask', rule: 'policies: audit' }],
        arguments: { path: '/x', password: '[REDACTED]' },
      },
    },
  ]);
});

verifies('G3', 'records the labels of the session and decides by them', () => {
  const records: AuditRecord[] = [];
  const taints: Taints = {
    isTracked: () => true,
    labelsOf: () => ['private'],
    run: (call, next) => next(call),
  };
  const decide = decides({ rules: [aRule({ when: '"private" in taint' })] });
  const append = (record: Later<AuditRecord>) => records.push(typeof record === 'function' ? record() : record);
  expect(() => permit({ decide, log: { append }, taints })(aCall())).toThrow('The rule says so.');
  expect(records).toMatchObject([{ detail: { taint: ['private'] } }]);
});

verifies('G3', 'applies only static rules to the continuation of a task, which has no arguments', () => {
  const decide = decides({ rules: [aRule({ tools: ['mcp__demo'], when: 'args.path == "x"' })] });
  const continuation = { kind: 'task', server: 'demo', taskId: 't', pollMs: 1 } as const;
  expect(attempt(decide, aCall({ continuation }))).toEqual({ records: [] });
  expect(attempt(decide, aCall()).code).toBe('PERMISSION_DENIED');
});

verifies('G3', 'records an asked attempt once: a poll of its approval writes no record', () => {
  const decide = decides({ permissions: { ask: ['mcp__demo'] } });
  expect(attempt(decide, aCall()).records).toMatchObject([{ detail: { decision: 'ask' } }]);
  expect(attempt(decide, aCall({ continuation: { kind: 'approval', id: 'ap_1' } })).records).toEqual([]);
});

verifies('G13', 'asks for an approval if a hook wants one, and never allows what a rule denies', () => {
  const hooked = { asks: 'The hook wants a second look.' };
  const asked = attempt(decides(), aCall({ hooked }));
  expect(asked.records).toMatchObject([{ detail: { decision: 'ask', rule: 'hooks.beforeCall' } }]);
  expect(attempt(decides({ permissions: { deny: ['mcp__demo'] } }), aCall({ hooked })).code).toBe('PERMISSION_DENIED');
});
