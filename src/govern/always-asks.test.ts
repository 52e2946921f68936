import { describe, expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { until } from '../../test/until.ts';
import type { LoadedPolicy } from '../config/config.ts';
import type { Facts } from '../core/call/facts.ts';
import type { Decision } from '../core/call.ts';
import { HeddleError } from '../core/errors.ts';
import { ada, aTarget, grace, text } from '../core/fixtures.ts';
import { standingBinding, standingScope } from './approvals/binding.ts';
import { anApproval, approvalBench, approvalIdOf, ops, START } from './approvals/fixtures.ts';
import { requireStandingPossible } from './approvals/standing-uses.ts';
import { decides } from './fixtures.ts';

const FACTS: Partial<Facts> = { approval: 'always', builtin: true, requiresApproval: true, destructive: true };
const EXECUTE = aTarget({
  publicName: 'mcp__database__db_execute',
  servers: ['database'],
  name: 'db_execute',
  facts: FACTS,
});
const { approval: _, ...OTHER_FACTS } = FACTS;
const ORDINARY = aTarget({ ...EXECUTE, facts: { ...OTHER_FACTS, builtin: false } });
const BUILT_IN = { effect: 'ask', rule: 'built-in' } as const;
const policy = (effect: Decision['effect']): LoadedPolicy =>
  ({ name: 'p', effect, reason: 'It says so.', at: { file: 'f', line: 1, column: 1 } }) as unknown as LoadedPolicy;

describe('a tool that always needs an approval', () => {
  verifies('B2', 'asks in every mode, against every rule that allows it', () => {
    const permissions = { allow: ['mcp__database', 'mcp__database__db_execute'] };
    const servers = new Map([['database', { allowedTools: ['db_execute'], writePermission: 'allow' } as never]]);
    for (const mode of ['open', 'guarded', 'strict'] as const) {
      for (const rules of [undefined, [policy('allow')]]) {
        const decide = decides({ mode, permissions, servers, ...(rules && { rules }) });
        for (const sent of [undefined, { kind: 'tool', input: {} } as const]) {
          for (const caller of [ada, grace, ops]) expect(decide(caller, EXECUTE, sent)).toMatchObject(BUILT_IN);
        }
      }
    }
    const allowing = { mode: 'open', permissions: { allow: ['mcp__database'], ask: [], deny: [] } };
    const decide = decides({ mode: 'open', profiles: new Map([['all', allowing as never]]) });
    expect(decide({ ...ada, profile: 'all' }, EXECUTE)).toMatchObject(BUILT_IN);
  });

  verifies('B2', 'is denied by a rule, and keeps the reason of a rule that asks', () => {
    expect(decides({ permissions: { deny: ['mcp__database'] } })(ada, EXECUTE).effect).toBe('deny');
    expect(decides({ rules: [policy('deny')] })(ada, EXECUTE, { input: {} })).toMatchObject({ effect: 'deny' });
    expect(decides({ rules: [policy('ask')] })(ada, EXECUTE)).toMatchObject({ effect: 'ask', reason: 'It says so.' });
  });

  verifies('C8', 'does not change how the same tool of another server is decided', () => {
    expect(decides({ mode: 'open' })(ada, ORDINARY).effect).toBe('allow');
  });
});

const DECISION: Decision = { ...BUILT_IN, reason: 'Each call needs one.' };
const bench = async (caller = ada) => {
  const opened = await approvalBench(caller);
  opened.target = EXECUTE;
  return { opened, send: (more: object = {}) => opened.send({ decision: DECISION, ...more }) };
};

describe('the approval of such a tool', () => {
  verifies('B2', 'is not given by a standing approval, of the configuration or stored', async () => {
    const { opened, send } = await bench();
    opened.approvals = { standing: [{ tool: 'mcp__database__db_execute', arguments: {} }] as never };
    const id = approvalIdOf(await send());
    const found = await opened.flow.box.get(id);
    expect(found).toMatchObject({ status: 'pending', allowsStanding: false });
    expect(() => requireStandingPossible(found ?? anApproval(), {})).toThrow(/cannot become a standing approval/);
    opened.approvals = {};
    const grant = {
      id: 'st_0123456789abcdef',
      tool: 'mcp__database__db_execute',
      arguments: {},
      from: 'store',
    } as const;
    const standing = { ...grant, approvedBy: 'key:ops', approverRoles: ['approver'], createdAt: START } as const;
    const binding = standingBinding(standingScope({ kind: 'tool', target: EXECUTE, caller: ada, meta: {} }), () => 's');
    await opened.store.standing.add({ ...standing, binding });
    expect(await send({ input: { other: 1 } })).toMatchObject({ kind: 'waiting' });
    expect(opened.reached).toEqual([]);
    opened.target = ORDINARY; // The grant itself is valid.
    expect(await send({ input: { other: 1 } })).toEqual(text('done'));
  });

  verifies('B2', 'is not given by an approval rule that allows standing ones', async () => {
    const { opened, send } = await bench();
    const rule = { name: 'r', stages: [{ approvers: ['role:approver'], need: 1 }], notRequester: false, client: true };
    opened.approvals = {
      rules: [{ ...rule, standing: true }],
      standing: [{ tool: 'mcp__database', arguments: {} }],
    } as never;
    expect(await send()).toMatchObject({ kind: 'waiting' });
    expect(opened.reached).toEqual([]);
  });

  verifies('B2', 'is not given by --yes, and is given by the user who is asked at the terminal', async () => {
    const { opened, send } = await bench(grace);
    const first = await send({ approved: 'self' });
    expect(first).toMatchObject({ kind: 'waiting', approval: { byRequester: true } });
    expect(approvalIdOf(await send({ approved: 'self' }))).toBe(approvalIdOf(first));
    expect(opened.reached).toEqual([]);
    const continuation = { kind: 'approval', id: approvalIdOf(first) } as const;
    expect(await send({ id: 'call-1', approved: 'self', continuation })).toEqual(text('done'));
    expect(opened.reached).toMatchObject([{ approval: { id: continuation.id, how: 'approved', by: ['grace'] } }]);
  });

  verifies('B2', 'is not given by --yes when a server goes on with the call', async () => {
    const { send, opened } = await bench(grace);
    const continuation = { kind: 'upstream', server: 'database', state: 's' } as const;
    await expect(send({ approved: 'self', continuation })).rejects.toMatchObject({ code: 'APPROVAL_REQUIRED' });
    expect(opened.reached).toEqual([]);
  });

  verifies('B2', 'is refused without approvers, and no rule is suggested that would not help', async () => {
    const { opened, send } = await bench(grace);
    opened.approvals = { unattended: true };
    for (const more of [{}, { approved: 'self' }]) {
      await expect(send(more)).rejects.toMatchObject({
        code: 'APPROVAL_REQUIRED',
        fix: 'Ask an approver: no rule allows it without an approval.',
      });
    }
  });

  verifies('B2', 'is used by a call whose outcome is unknown, and the same call needs another one', async () => {
    const { opened, send } = await bench();
    opened.invoke = () => Promise.reject(new HeddleError('OUTCOME_UNKNOWN', 'The connection was lost.'));
    const id = approvalIdOf(await send());
    await opened.flow.decide(ops, id, { verdict: 'approve' });
    await expect(send({ id: 'lost' })).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    const found = () => opened.flow.box.get(id);
    await until('the end is stored', async () => (await found())?.outcome !== undefined);
    expect(await found()).toMatchObject({ status: 'used', callId: 'lost', outcome: 'OUTCOME_UNKNOWN' });
    const recorded = async () => (await opened.store.audit.search({ callId: 'lost', limit: 10 })).map(outcomeIn);
    await until('the end is recorded', async () => (await recorded()).includes('OUTCOME_UNKNOWN'));
    const again = await opened.flow.box.get(approvalIdOf(await send()));
    expect(again).toMatchObject({ status: 'pending', earlierCall: 'lost' });
    expect(opened.reached).toHaveLength(1);
  });
});

const outcomeIn = ({ detail }: { readonly detail: { readonly outcome?: unknown } }) => detail.outcome;
