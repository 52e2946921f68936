import { describe, expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { until } from '../../../test/until.ts';
import type { DecidedCall, Result } from '../../core/call.ts';
import { aCall, ada, text } from '../../core/fixtures.ts';
import { standingBinding, standingScope } from './binding.ts';
import { approvalBench, approvalIdOf, type Bench, ops } from './fixtures.ts';

const UPSTREAM = { kind: 'upstream', server: 'demo', state: 's' } as const;
const CALL_AGAIN = { kind: 'call-again', server: 'demo', after: ['e'] } as const;
const TASK = { kind: 'task', server: 'demo', taskId: 't', pollMs: 0 } as const;
const working: Result = { kind: 'working', task: {}, continuation: TASK };
const CALL = { id: 'one', input: { n: 1 } };

type ServerResult = Extract<Result, { readonly kind: 'input-required' | 'working' }>;

const asking = (continuation: typeof UPSTREAM | typeof CALL_AGAIN): Result => ({
  kind: 'input-required',
  inputRequests: {},
  continuation,
});

/** Sends an approved call that the server does not finish. Returns the call that continues it. */
async function unfinished(bench: Bench, first: Result): Promise<Partial<DecidedCall>> {
  bench.invoke = async () => first;
  const id = approvalIdOf(await bench.send(CALL));
  await bench.flow.decide(ops, id, { verdict: 'approve' });
  return continuationOf(await bench.send({ ...CALL, continuation: { kind: 'approval', id } }));
}

/** Returns the call that continues a result. */
function continuationOf(result: Result): Partial<DecidedCall> {
  if (result.kind === 'complete' || result.continuation.kind === 'approval') throw new Error(`It is ${result.kind}.`);
  const { continuation } = result as ServerResult;
  return { ...CALL, ...(continuation.kind === 'task' && { input: {} }), continuation };
}

async function withStanding(bench: Bench): Promise<void> {
  await bench.flow.standing.add({
    ...{ id: 'st_1', tool: 'mcp__demo__echo', caller: 'ada', arguments: {}, digest: bench.target.digest },
    ...{ approvedBy: 'key:ops', approverRoles: ['approver'], createdAt: bench.now, from: 'store' },
    binding: standingBinding(standingScope(aCall({ target: bench.target, caller: ada })), () => 's'),
  });
}

const REFUSED = { code: 'APPROVAL_REQUIRED' };

describe.each([UPSTREAM, CALL_AGAIN])('the proof of an approval in a continuation $kind', (continuation) => {
  verifies('G7', 'runs one call, even if it is sent to two gateways at once', async () => {
    const bench = await approvalBench();
    const other = await approvalBench(ada, bench.store);
    const call = await unfinished(bench, asking(continuation));
    bench.invoke = async () => text('done');
    const sent = await Promise.allSettled([bench, other, bench, other].map((one) => one.send(call)));
    expect(sent.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const one of sent) if (one.status === 'rejected') expect(one.reason).toMatchObject(REFUSED);
    expect(bench.reached.length + other.reached.length).toBe(2);
  });

  verifies('G7', 'of a standing approval runs one call, too', async () => {
    const bench = await approvalBench();
    await withStanding(bench);
    bench.invoke = async () => asking(continuation);
    const call = continuationOf(await bench.send(CALL));
    const other = await approvalBench(ada, bench.store);
    await expect(other.send(call)).resolves.toMatchObject({ kind: 'complete' });
    await expect(other.send(call)).rejects.toMatchObject(REFUSED);
    await expect(bench.send(call)).rejects.toMatchObject(REFUSED);
    expect(bench.reached.length + other.reached.length).toBe(2);
  });

  verifies('G7', 'does not cover another `_meta` or other params than the approved ones', async () => {
    const bench = await approvalBench();
    const call = await unfinished(bench, asking(continuation));
    for (const other of [{ meta: { command: 'rm' } }, { extraParams: { force: true } }]) {
      await expect(bench.send({ ...call, ...other })).rejects.toMatchObject(REFUSED);
    }
    expect(bench.reached).toHaveLength(1);
    bench.invoke = async () => text('done');
    await expect(bench.send({ ...call, meta: { traceparent: 'a' } })).resolves.toMatchObject({ kind: 'complete' });
  });

  verifies('G7', 'runs nothing while the store cannot tell whether it was used', async () => {
    const bench = await approvalBench();
    const call = await unfinished(bench, asking(continuation));
    await bench.store.committed('ALTER TABLE approval_calls RENAME TO lost');
    await expect(bench.send(call)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(bench.reached).toHaveLength(1);
  });

  verifies('G7', 'does not count if Heddle did not issue it for this call, caller and arguments', async () => {
    const bench = await approvalBench();
    const call = await unfinished(bench, asking(continuation));
    const { continuation: issued } = call;
    if (!issued || issued.kind === 'approval' || !issued.approved) throw new Error('It has no proof.');
    const { approved } = issued;
    const forged = [
      { ...call, id: 'two' },
      { ...call, input: { n: 2 } },
      { ...call, caller: { ...ada, id: 'eve' } },
      { ...call, continuation: { ...issued, approved: { ...approved, nonce: 'other' } } },
      { ...call, continuation: { ...issued, approved: { ...approved, id: 'st_0000000000000000' } } },
    ];
    for (const one of forged) await expect(bench.send(one)).rejects.toMatchObject(REFUSED);
    expect(bench.reached).toHaveLength(1);
  });
});

describe('an approval whose call has continuations', () => {
  verifies('F8', 'ends with the last one', async () => {
    const bench = await approvalBench();
    const call = await unfinished(bench, asking(UPSTREAM));
    const used = async () => (await bench.store.approvals.list({ statuses: ['used'], limit: 10 }))[0];
    expect(await used()).not.toHaveProperty('outcome');
    const next = continuationOf(await bench.send(call));
    expect(await used()).not.toHaveProperty('outcome');
    bench.invoke = async () => text('done');
    await bench.send(next);
    await until('it has its end', async () => (await used())?.outcome === 'complete');
  });

  verifies('F8', 'ends with the last one if the rules allow that one without an approval', async () => {
    const decision = { effect: 'allow', rule: 'r', reason: 'r' } as const;
    for (const first of [working, asking(UPSTREAM), asking(CALL_AGAIN)]) {
      const bench = await approvalBench();
      const call = await unfinished(bench, first);
      const next = continuationOf(await bench.send({ ...call, decision }));
      bench.invoke = async () => text('done');
      await expect(bench.send({ ...next, decision })).resolves.toEqual(text('done'));
      const used = async () => (await bench.store.approvals.list({ statuses: ['used'], limit: 10 }))[0];
      await until('it has its end', async () => (await used())?.outcome === 'complete');
      await until('the call runs no more', () => bench.flow.running.size === 0);
      await expect(bench.send({ ...next, decision })).resolves.toEqual(text('done')); // It needs no proof.
    }
  });

  verifies('F8', 'is OUTCOME_UNKNOWN if the process of a continuation ended', async () => {
    const bench = await approvalBench();
    const call = await unfinished(bench, asking(UPSTREAM));
    bench.invoke = () => new Promise(() => {});
    void bench.send(call);
    await until('the server has it', () => bench.reached.length === 2);
    bench.die();
    const restarted = await approvalBench(ada, bench.store);
    await expect(restarted.send({ input: CALL.input })).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    const again = approvalIdOf(await restarted.send({ input: CALL.input }));
    expect(await restarted.store.approvals.get(again)).toMatchObject({ earlierCall: 'one' });
    expect(restarted.reached).toEqual([]);
  });

  verifies('F8', 'is OUTCOME_UNKNOWN if the process ended while a task of the server ran', async () => {
    const bench = await approvalBench();
    const poll = await unfinished(bench, working);
    bench.die();
    const restarted = await approvalBench(ada, bench.store);
    await expect(restarted.send({ input: CALL.input })).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    restarted.invoke = async () => text('done');
    await restarted.send(poll);
    const outcome = async () =>
      (await bench.store.approvals.list({ statuses: ['used'], limit: 10 })).map((one) => one.outcome);
    await until('its end is known after all', async () => (await outcome()).includes('complete'));
  });

  verifies('F8', 'is shown to the next approver if the server waits for input', async () => {
    const bench = await approvalBench();
    const call = await unfinished(bench, asking(UPSTREAM));
    const closing = `SELECT * FROM audit WHERE phase = 'outcome' AND detail LIKE '%input-required%'`;
    await until('its record is written', async () => (await bench.store.committed(closing)).length > 0);
    const restarted = await approvalBench(ada, bench.store);
    const again = approvalIdOf(await restarted.send({ input: CALL.input }));
    expect(await restarted.store.approvals.get(again)).toMatchObject({ status: 'pending', earlierCall: 'one' });
    await expect(restarted.send(call)).resolves.toMatchObject({ kind: 'complete' });
  });

  verifies('G7', 'keeps its proof while a task is polled', async () => {
    const bench = await approvalBench();
    const poll = await unfinished(bench, working);
    for (let polls = 0; polls < 3; polls++) expect(continuationOf(await bench.send(poll))).toEqual(poll);
  });
});
