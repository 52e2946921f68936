import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { until } from '../../../test/until.ts';
import type { Timer } from '../../core/time.ts';
import type { StoredApproval } from '../../store/approval-box.ts';
import { approvalFlow } from './approval-flow.ts';
import { approvalBench, approvalIdOf, type Bench, ops, START } from './fixtures.ts';

/** Opens the flow of another process on the same store. `advance` moves the clock and fires its timer. */
function anotherProcess(bench: Bench) {
  const timers = new Map<object, { readonly at: number; readonly callback: () => void }>();
  const timer: Timer = (delayMs, callback) => {
    const key = {};
    timers.set(key, { at: bench.now + delayMs, callback });
    return () => timers.delete(key);
  };
  const changes: [string, StoredApproval['status']][] = [];
  const flow = approvalFlow({ ...bench.flow, timer, onChange: ({ id, status }) => changes.push([id, status]) });
  async function advance(ms: number): Promise<void> {
    await until('a timer is set', () => timers.size > 0);
    bench.now += ms;
    for (const [key, { at, callback }] of timers) {
      if (at > bench.now) continue;
      timers.delete(key);
      callback();
    }
  }
  return { flow, changes, advance, timers };
}

verifies('G7', 'an approval of an ended process times out on time, without a call', async () => {
  const bench = await approvalBench();
  const id = approvalIdOf(await bench.send());
  const { changes, advance, flow } = anotherProcess(bench);
  await advance(299_999);
  await advance(1);
  await until('the approval has timed out', () => changes.length > 0);
  expect(changes).toEqual([[id, 'timeout']]);
  expect(await bench.store.approvals.get(id)).toMatchObject({ status: 'timeout', settledAt: START + 300_000 });
  await until('its end is recorded', async () => {
    const [record] = await bench.store.audit.search({ limit: 1 });
    return record?.name === 'approvals.state' && record.detail.outcome === 'timeout';
  });
  flow.close();
});

verifies('G7', 'an approved call of an ended process expires on time', async () => {
  const bench = await approvalBench();
  const id = approvalIdOf(await bench.send());
  await bench.flow.decide(ops, id, { verdict: 'approve' });
  const { changes, advance, flow } = anotherProcess(bench);
  await advance(900_000);
  await until('the approval has expired', () => changes.length > 0);
  expect(changes).toEqual([[id, 'expired']]);
  flow.close();
});

verifies('G7', 'an approval that another process requests later is found within 30 s', async () => {
  const bench = await approvalBench();
  const { changes, advance, flow } = anotherProcess(bench);
  await advance(0);
  bench.approvals = { timeoutMs: 10_000 };
  const id = approvalIdOf(await bench.send());
  await advance(30_000);
  await until('the approval has timed out', () => changes.length > 0);
  expect(changes).toEqual([[id, 'timeout']]);
  flow.close();
});

verifies('F7', 'a sweep that fails is repeated after 30 s, not at once', async () => {
  const bench = await approvalBench();
  await bench.send();
  const due = bench.flow.box.due;
  let sweeps = 0;
  bench.flow.box.due = async () => {
    sweeps++;
    throw new Error('The disk is full.');
  };
  const { timers, changes, advance, flow } = anotherProcess(bench);
  await advance(300_000);
  await until('the next sweep is set', () => sweeps === 1 && timers.size > 0);
  expect([...timers.values()].map(({ at }) => at - bench.now)).toEqual([30_000]);
  bench.flow.box.due = due;
  await advance(30_000);
  await until('the approval has timed out', () => changes.length > 0);
  flow.close();
});

verifies('G7', 'no timer is left after the flow is closed', async () => {
  const bench = await approvalBench();
  await bench.send();
  const { timers, advance, flow } = anotherProcess(bench);
  await advance(0);
  flow.close();
  expect(timers.size).toBe(0);
});
