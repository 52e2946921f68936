import { describe, expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { ada } from '../../core/fixtures.ts';
import { anApprovalRule, approvalBench, approvalIdOf, ops } from './fixtures.ts';
import { addStanding } from './standing-uses.ts';

verifies('G6', 'an approval rule on labels applies to a labelled session', async () => {
  const bench = await approvalBench();
  const stages = [{ approvers: ['key:ops'], need: 1 }];
  bench.approvals = { rules: [anApprovalRule({ stages, when: '"untrusted" in taint' })] };
  const decision = { effect: 'ask', rule: 'r', reason: 'x', taint: ['untrusted'] } as const;
  const id = approvalIdOf(await bench.send({ decision }));
  expect((await bench.store.approvals.get(id))?.stages).toEqual(stages);
});

verifies('G7', 'the state of a stateless server continues an approved call once', async () => {
  const bench = await approvalBench();
  bench.invoke = async () => ({
    ...{ kind: 'input-required', inputRequests: {} },
    continuation: { kind: 'upstream', server: 'demo', state: 's' },
  });
  const id = approvalIdOf(await bench.send());
  await bench.flow.decide(ops, id, { verdict: 'approve' });
  const result = await bench.send({ id: 'one', continuation: { kind: 'approval', id } });
  const continuation = result.kind === 'input-required' ? result.continuation : undefined;
  if (continuation?.kind !== 'upstream') throw new Error('There is no state.');
  const forged = { ...continuation, approved: { ...continuation.approved, id: 'ap_forged' } } as typeof continuation;
  await expect(bench.send({ id: 'one', continuation: forged })).rejects.toMatchObject({ code: 'APPROVAL_REQUIRED' });
  await bench.send({ id: 'one', continuation });
  expect(bench.reached).toHaveLength(2);
  await expect(bench.send({ id: 'one', continuation: { ...continuation, again: true } })).rejects.toMatchObject({
    code: 'APPROVAL_REQUIRED',
  });
  expect(bench.reached).toHaveLength(2);
});

describe('a standing approval ends', () => {
  async function withStanding() {
    const bench = await approvalBench();
    const id = approvalIdOf(await bench.send());
    const approval = await bench.store.approvals.get(id);
    if (!approval) throw new Error('There is no approval.');
    await bench.flow.decide(ops, id, { verdict: 'approve' });
    await bench.send(); // Uses the approval.
    await addStanding(bench.flow, { by: ops, approval, wish: {} });
    expect((await bench.send()).kind).toBe('complete');
    return bench;
  }
  verifies('G6', 'when its approver may no longer decide', async () => {
    const bench = await withStanding();
    bench.approvals = { rules: [anApprovalRule({ stages: [{ approvers: ['owner'], need: 1 }] })] };
    expect((await bench.send()).kind).toBe('waiting');
  });
  verifies('G6', 'with the key of its approver', async () => {
    const bench = await withStanding();
    bench.apiKeys = [];
    await expect(bench.send()).resolves.toMatchObject({ kind: 'waiting' });
  });
  verifies('G6', 'when its approver is no approver any more', async () => {
    const bench = await withStanding();
    bench.apiKeys = [{ name: 'ops', roles: ['user'] }];
    await expect(bench.send()).resolves.toMatchObject({ kind: 'waiting' });
  });
});

verifies(
  'G6',
  'decisions of a key without its role, or of an issuer that is not configured, do not count',
  async () => {
    const bench = await approvalBench();
    const id = approvalIdOf(await bench.send());
    await bench.flow.decide(ops, id, { verdict: 'approve' });
    bench.apiKeys = [{ name: 'ops', roles: ['user'] }];
    expect(await bench.send()).toMatchObject({ kind: 'waiting' });
    await bench.flow.decide({ ...ops, id: 'https://old.example#eve' }, id, { verdict: 'approve' });
    expect(await bench.send()).toMatchObject({ kind: 'waiting' });
    expect(bench.reached).toEqual([]);
  },
);

verifies('G6', 'a waiting call of a revoked key does not run, even if the rules now allow it', async () => {
  const me = { ...ada, id: 'key:me' };
  const bench = await approvalBench(me);
  bench.apiKeys.push({ name: 'me', roles: ['user'] });
  const continuation = { kind: 'approval', id: approvalIdOf(await bench.send()) } as const;
  bench.apiKeys = bench.apiKeys.filter(({ name }) => name !== 'me');
  const decision = { effect: 'allow', rule: 'r', reason: 'x' } as const;
  await expect(bench.send({ continuation, decision })).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
  expect(bench.reached).toEqual([]);
});
