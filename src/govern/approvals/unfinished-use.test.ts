import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { until } from '../../../test/until.ts';
import { aCall, aTarget, text } from '../../core/fixtures.ts';
import { approvalBench, approvalIdOf, type Bench, ops } from './fixtures.ts';
import { requireKnownEnd } from './unfinished-use.ts';

/** Marks the approval of a call as used by a process that is gone. */
async function crashed(bench: Bench, id: string, isSent: boolean): Promise<void> {
  await bench.flow.decide(ops, id, { verdict: 'approve' });
  await bench.flow.apply(id, { kind: 'use', callId: 'lost' });
  if (!isSent) return;
  const record = { callId: 'lost', phase: 'intent', at: bench.now, caller: 'ada', via: 'gateway' } as const;
  const detail = { decision: 'approved', approval: { id, by: ['key:ops'] } };
  await bench.store.audit.appendDurably({ ...record, name: 'mcp__demo__echo', detail });
}

verifies('F8', 'a call that was sent before a crash is OUTCOME_UNKNOWN once, then needs a new approval', async () => {
  const bench = await approvalBench();
  const id = approvalIdOf(await bench.send());
  await crashed(bench, id, true);
  const lost = { code: 'OUTCOME_UNKNOWN', details: { approval: id, callId: 'lost' } };
  await expect(bench.send()).rejects.toMatchObject(lost);
  const again = approvalIdOf(await bench.send());
  expect(await bench.store.approvals.get(again)).toMatchObject({ status: 'pending', earlierCall: 'lost' });
  expect(bench.reached).toEqual([]);
});

verifies('F8', 'a call that was not sent before a crash says so once, then needs a new approval', async () => {
  const bench = await approvalBench();
  const id = approvalIdOf(await bench.send());
  await crashed(bench, id, false);
  await expect(bench.send()).rejects.toThrow('before anything was sent');
  expect(approvalIdOf(await bench.send())).not.toBe(id);
});

verifies('F8', 'a read-only call requests a new approval directly', async () => {
  const bench = await approvalBench();
  bench.target = aTarget({ facts: { readOnly: true } });
  const id = approvalIdOf(await bench.send());
  await crashed(bench, id, false);
  expect(approvalIdOf(await bench.send())).not.toBe(id);
});

verifies('F8', 'a call whose end was noted after its approval was read does not run any more', async () => {
  const bench = await approvalBench();
  const id = approvalIdOf(await bench.send());
  await bench.flow.decide(ops, id, { verdict: 'approve' });
  const runner = await bench.flow.runner.begin();
  await bench.flow.apply(id, { kind: 'use', callId: 'lost', runner });
  const read = await bench.store.approvals.get(id);
  const call = { ...aCall(), target: bench.target, decision: { effect: 'ask', rule: 'r', reason: 'r' } } as const;
  if (!read) throw new Error('There is no approval.');
  await expect(requireKnownEnd(read, call, bench.flow)).rejects.toMatchObject({ code: 'APPROVAL_SETTLED' });
  await bench.flow.apply(id, { kind: 'end', outcome: 'complete' });
  await expect(requireKnownEnd(read, call, bench.flow)).resolves.toBeUndefined();
});

verifies('F8', 'an approval whose call the store stops before it is sent has an end', async () => {
  for (const failing of [1, 2]) {
    const bench = await approvalBench();
    const id = approvalIdOf(await bench.send());
    await bench.flow.decide(ops, id, { verdict: 'approve' });
    const { begin } = bench.flow.runner;
    let begun = 0;
    bench.flow.runner.begin = async () => {
      if (++begun === failing) throw new Error('The disk is full.');
      return begin();
    };
    await expect(bench.send()).rejects.toThrow('The disk is full.');
    await until('the call runs no more', () => bench.flow.running.size === 0);
    const stored = await bench.store.approvals.get(id);
    expect([stored?.status, stored?.outcome !== undefined]).toEqual(
      failing === 1 ? ['approved', false] : ['used', true],
    );
    expect(bench.reached).toEqual([]);
  }
});

verifies('G7', 'a call that ended needs a new approval, which names it for 10 minutes', async () => {
  const bench = await approvalBench();
  const id = approvalIdOf(await bench.send());
  await bench.flow.decide(ops, id, { verdict: 'approve' });
  await expect(bench.send({ id: 'done' })).resolves.toEqual(text('done'));
  const again = approvalIdOf(await bench.send());
  expect((await bench.store.approvals.get(again))?.earlierCall).toBe('done');
  bench.now += 600_000;
  const later = approvalIdOf(await bench.send());
  expect((await bench.store.approvals.get(later))?.earlierCall).toBeUndefined();
});

verifies(
  'G7',
  'the proof of a used approval lets the continuations of its call pass, with the same arguments',
  async () => {
    const bench = await approvalBench();
    const continuation = { kind: 'upstream', server: 'demo', state: 's' } as const;
    bench.invoke = async () => ({ kind: 'input-required', inputRequests: {}, continuation });
    const id = approvalIdOf(await bench.send({ input: { a: 1 } }));
    await bench.flow.decide(ops, id, { verdict: 'approve' });
    const result = await bench.send({ id: 'one', input: { a: 1 } });
    if (result.kind !== 'input-required') throw new Error(result.kind);
    expect(result.continuation).toMatchObject({ ...continuation, approved: { id } });
    const again = await bench.send({ id: 'one', input: { a: 1 }, continuation: result.continuation });
    expect(again).toMatchObject({ continuation: { approved: { id } } });
    await expect(bench.send({ input: { a: 2 }, continuation: result.continuation })).rejects.toMatchObject({
      code: 'APPROVAL_REQUIRED',
    });
  },
);
