import { describe, expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { until } from '../../../test/until.ts';
import { HeddleError } from '../../core/errors.ts';
import type { text } from '../../core/fixtures.ts';
import type { Timer } from '../../core/time.ts';
import type { StoredRun } from '../../store/run-journal.ts';
import { aCallStep, aStep, aWorkflow } from '../fixtures.ts';
import { completeWith, runBench, timeNow } from './fixtures.ts';

const START = Date.UTC(2026, 10, 17, 9);
const ASK = aStep('approval', { id: 'ok', title: { value: 'Go on?' }, quorum: 1, onExpire: 'fail' });

/** A clock and timers that stand still until they are moved. */
function virtualTime() {
  const timers = new Map<object, { at: number; callback: () => void }>();
  const time = {
    now: START,
    clock: () => time.now,
    timer: ((delayMs, callback) => {
      const key = {};
      timers.set(key, { at: time.now + delayMs, callback });
      return () => timers.delete(key);
    }) as Timer,
    pass(ms: number) {
      time.now += ms;
      for (const [key, { at, callback }] of timers) if (at <= time.now && timers.delete(key)) callback();
    },
    timers,
  };
  return time;
}

/** Opens a bench whose time stands still. */
async function timedBench() {
  const time = virtualTime();
  const bench = await runBench(() => ({ clock: time.clock, timer: time.timer }));
  return { time, bench };
}

verifies('W5', 'an approval that the store could not take is requested in a later execution', async () => {
  let isDown = true;
  const bench = await runBench(({ approvals }) => ({
    approvals: {
      ...approvals,
      async request(step) {
        if (isDown) throw new HeddleError('STORE_UNAVAILABLE', 'The database is starting up.');
        return approvals.request(step);
      },
    },
  }));
  const run = await bench.create(aWorkflow([ASK]));
  expect(await bench.advance(run)).toEqual({ kind: 'lost' });
  isDown = false;
  expect(await bench.advance(run)).toMatchObject({ kind: 'suspended' });
  expect(bench.requested).toHaveLength(1);
});

describe('a wait', () => {
  verifies('W3', 'of more than 2 s suspends the run until its time, and leaves no timer', async () => {
    const { time, bench } = await timedBench();
    const run = await bench.create(aWorkflow([aStep('wait', { id: 'pause', for: 60_000 }), aCallStep('read')]));
    expect(await bench.advance(run)).toEqual({ kind: 'suspended', wakeAt: START + 60_000 });
    expect(await bench.get(run)).toMatchObject({ status: 'waiting', wakeAt: START + 60_000 });
    time.pass(30_000);
    expect(await bench.advance(run)).toEqual({ kind: 'suspended', wakeAt: START + 60_000 });
    expect(time.timers.size).toBe(0);
    time.pass(30_000);
    const ended = bench.advance(run);
    await until('the timer is set', () => time.timers.size > 0);
    time.pass(0);
    expect(await ended).toEqual({ kind: 'ended' });
    expect(bench.called(run)).toEqual(['read']);
  });

  verifies('W3', 'of less than 2 s stays in the process', async () => {
    const { time, bench } = await timedBench();
    const run = await bench.create(aWorkflow([aStep('wait', { id: 'pause', for: 1000 }), aCallStep('read')]));
    const ended = bench.advance(run);
    await until('the timer is set', () => [...time.timers.values()].some(({ at }) => at === START + 1000));
    time.pass(1000);
    expect(await ended).toEqual({ kind: 'ended' });
    expect(time.timers.size).toBe(0);
  });

  verifies('W3', 'for a person counts for no timeout, also after a crash', async () => {
    const { time, bench } = await timedBench();
    const run = await bench.create(
      aWorkflow([{ ...aStep('sequential', { id: 'block', steps: [ASK, aCallStep('read')] }), timeoutMs: 10_000 }]),
    );
    const first = await bench.advance(run);
    expect(first).toMatchObject({ kind: 'suspended' });
    time.pass(3_000_000);
    bench.decisions.set(`ap_${run.id}_block/ok`, { kind: 'approved', by: ['ops'], at: time.now });
    const ended = bench.advance(run);
    expect(await ended).toEqual({ kind: 'ended' });
    expect(await bench.get(run)).toMatchObject({ status: 'succeeded' });
  });
});

describe('a run that a step begins', () => {
  verifies('W3', 'stops the clock of its step while it waits for a person, also after a crash', async () => {
    const { time, bench } = await timedBench();
    const children: StoredRun[] = [];
    bench.respond('write', async (call) => {
      if (call.continuation) return completeWith({ done: true });
      const parent = { run: call.fence?.run ?? '', path: 'write' };
      const wanted = { parent, callId: call.id, timeoutMs: Number(call.options.timeoutMs) };
      const child = await bench.create(aWorkflow([ASK, aCallStep('read')]), wanted);
      children.push(child);
      return {
        kind: 'working',
        task: {},
        continuation: { kind: 'task', server: 'workflow', taskId: child.id, pollMs: 1 },
      };
    });
    const run = await bench.create(aWorkflow([{ ...aCallStep('write'), timeoutMs: 10_000 }]));
    expect(await bench.advance(run)).toEqual({ kind: 'suspended', wakeAt: START + 10_000 });
    const [child = run] = children;
    time.pass(4000);
    expect(await bench.advance(child)).toMatchObject({ kind: 'suspended' });
    time.pass(3_000_000);
    // Only the check for a lost signal is left.
    expect(await bench.advance(run)).toEqual({ kind: 'suspended', wakeAt: time.now + 300_000 });
    expect(await bench.get(child)).toMatchObject({ status: 'waiting' });
    bench.decisions.set(`ap_${child.id}_ok`, { kind: 'approved', by: ['ops'], at: time.now });
    bench.killAfter(1, 'decided');
    expect(await bench.advance(child)).toEqual({ kind: 'lost' });
    bench.respond('read', () => new Promise(() => {}));
    void bench.advance(child);
    await until('the child goes on', () => bench.called(child).length === 1);
    expect(await bench.advance(run)).toEqual({ kind: 'suspended', wakeAt: time.now + 6000 });
  });

  verifies('W3', 'is cancelled at the timeout of its step, also while its tool is not known', async () => {
    const { time, bench } = await timedBench();
    const children: StoredRun[] = [];
    bench.respond('write', async (call) => {
      if (call.continuation) throw new HeddleError('NAME_UNKNOWN', 'The program has not registered it yet.');
      const parent = { run: call.fence?.run ?? '', path: 'write' };
      const child = await bench.create(aWorkflow([ASK, aCallStep('read')]), { parent, callId: call.id });
      children.push(child);
      return {
        kind: 'working',
        task: {},
        continuation: { kind: 'task', server: 'workflow', taskId: child.id, pollMs: 1 },
      };
    });
    const run = await bench.create(aWorkflow([{ ...aCallStep('write'), timeoutMs: 10_000 }]));
    expect(await bench.advance(run)).toMatchObject({ kind: 'suspended' });
    time.pass(20_000);
    const ended = bench.advance(run);
    await until('the timer is set', () => time.timers.size > 0);
    time.pass(0);
    expect(await ended).toEqual({ kind: 'ended' });
    expect(await bench.get(run)).toMatchObject({ error: { code: 'TIMEOUT' } });
    const [child = run] = children;
    expect(await bench.advance(child)).toEqual({ kind: 'ended' });
    expect(await bench.get(child)).toMatchObject({ status: 'cancelled' });
  });
});

describe('a call', () => {
  verifies('W3', 'that takes too long ends with TIMEOUT and is aborted at the server', async () => {
    const { time, bench } = await timedBench();
    bench.respond(
      'write',
      ({ signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    );
    const run = await bench.create(aWorkflow([{ ...aCallStep('write'), timeoutMs: 5000 }]));
    const ended = bench.advance(run);
    await until('the call is in flight', () => bench.called(run).length === 1);
    time.pass(5000);
    expect(await ended).toEqual({ kind: 'ended' });
    expect(await bench.get(run)).toMatchObject({ status: 'failed', error: { code: 'TIMEOUT', path: 'write' } });
  });

  verifies('G6', 'that needs an approval suspends the run, and is sent once it is decided', async () => {
    const bench = await runBench();
    const continuation = { kind: 'approval', id: 'ap_1' } as const;
    bench.respond('write', (call) => {
      if (call.continuation?.kind === 'approval') return completeWith({ approval: call.continuation.id });
      const approval = { id: 'ap_1', approvers: ['role:approver'], expiresAt: timeNow() + 60_000, reason: 'asks' };
      return { kind: 'waiting', approval, continuation };
    });
    const run = await bench.create(aWorkflow([aCallStep('write')]));
    expect(await bench.advance(run)).toMatchObject({ kind: 'suspended' });
    expect(await bench.advance(run)).toMatchObject({ kind: 'suspended' });
    expect(bench.called(run)).toEqual(['write']);
    bench.decisions.set('ap_1', { kind: 'approved', by: ['ops'], at: timeNow() });
    expect(await bench.advance(run)).toEqual({ kind: 'ended' });
    expect(await bench.output(run)).toEqual({ approval: 'ap_1' });
    expect(new Set(bench.reached.map(({ id }) => id)).size).toBe(1);
  });

  verifies('W5', 'that requests input gets it from the caller of the run; without one it fails', async () => {
    const input = { method: 'elicitation/create', params: { message: 'Which?' } } as const;
    const respond = (call: { readonly inputResponses?: object }) =>
      call.inputResponses
        ? completeWith({ got: Object.keys(call.inputResponses) })
        : ({
            kind: 'input-required',
            inputRequests: { q: input },
            continuation: { kind: 'upstream', server: 'demo', state: 's' },
          } as const);
    const detached = await runBench();
    detached.respond('write', respond);
    const alone = await detached.create(aWorkflow([aCallStep('write')]));
    await detached.advance(alone);
    expect(await detached.get(alone)).toMatchObject({ status: 'failed', error: { code: 'UPSTREAM_REFUSED' } });

    const requests: unknown[] = [];
    const capabilities = { form: true, url: false, sampling: false, samplingTools: false, roots: false };
    const attended = await runBench(() => ({
      inputOf: () => ({
        capabilities,
        async respond(request) {
          requests.push(request);
          return { q: { action: 'accept' } };
        },
      }),
    }));
    attended.respond('write', respond);
    const run = await attended.create(aWorkflow([aCallStep('write')]));
    await attended.advance(run);
    expect(await attended.output(run)).toEqual({ got: ['q'] });
    expect(requests).toEqual([{ path: 'write', server: 'demo', inputRequests: { q: input } }]);
  });

  verifies('W5', 'whose result is large is stored once, by reference', async () => {
    const bench = await runBench();
    const value = { text: 'x'.repeat(100_000) };
    bench.respond('write', () => completeWith(value));
    bench.respond('write2', () => completeWith(value));
    const run = await bench.create(aWorkflow([aCallStep('write'), aCallStep('write2')]));
    await bench.advance(run);
    expect(await bench.output(run)).toEqual(value);
    const ends = (await bench.entries(run)).flatMap((entry) => (entry.kind === 'finished' ? entry.detail.end : []));
    const [first, second] = ends.map((end) => (end.ok ? end.value : undefined));
    expect(first).toEqual({ sha256: expect.any(String), bytes: expect.any(Number) });
    expect(second).toEqual(first);
  });
});

describe('a stop', () => {
  verifies('W5', 'undoes finished steps once, also when the process dies in between', async () => {
    const bench = await runBench();
    const compensate = { tool: 'write-undo', input: { value: {} } };
    const run = await bench.create(aWorkflow([aCallStep('write', { compensate }), ASK, aCallStep('write2')]));
    expect(await bench.advance(run)).toMatchObject({ kind: 'suspended' });
    await bench.store.runs.signal(run.id, { kind: 'cancel', by: 'ada', detail: {} });
    bench.killAfter(1, 'finished');
    expect(await bench.advance(run)).toEqual({ kind: 'lost' });
    expect(await bench.advance(run)).toEqual({ kind: 'ended' });
    expect(await bench.get(run)).toMatchObject({ status: 'cancelled', error: { code: 'CANCELLED' } });
    expect(bench.called(run)).toEqual(['write', 'write-undo']);
    expect(bench.withdrawn).toEqual([`ap_${run.id}_ok`]);
  });

  verifies('W6', 'by the timeout of the run fails it with TIMEOUT, at its time', async () => {
    const { time, bench } = await timedBench();
    const run = await bench.create(aWorkflow([ASK]), { timeoutMs: 30_000 });
    expect(await bench.advance(run)).toEqual({ kind: 'suspended', wakeAt: START + 30_000 });
    time.pass(30_000);
    const ended = bench.advance(run);
    await until('the timer is set', () => time.timers.size > 0);
    time.pass(0);
    expect(await ended).toEqual({ kind: 'ended' });
    expect(await bench.get(run)).toMatchObject({ status: 'failed', error: { code: 'TIMEOUT' } });
  });
});

describe('a process that has lost its run', () => {
  verifies('W5', 'sends and writes nothing more', async () => {
    const bench = await runBench();
    const response = Promise.withResolvers<ReturnType<typeof text>>();
    bench.respond('read', () => response.promise);
    const run = await bench.create(aWorkflow([aCallStep('read'), aCallStep('write')]));
    const stale = bench.advance(run);
    await until('the call is in flight', () => bench.called(run).length === 1);
    await bench.claim(run, 'another process');
    const before = (await bench.entries(run)).length;
    response.resolve(completeWith({}));
    expect(await stale).toEqual({ kind: 'lost' });
    expect(bench.called(run)).toEqual(['read']);
    expect(await bench.entries(run)).toHaveLength(before);
  });
});
