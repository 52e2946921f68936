import { describe, expect, onTestFinished } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { until } from '../../../test/until.ts';
import { HeddleError } from '../../core/errors.ts';
import { realTimer } from '../../core/time.ts';
import type { RunOwner } from '../../store/run-queue.ts';
import { aCallStep, aStep, aWorkflow } from '../fixtures.ts';
import { completeWith, type RunBench, runBench, timeNow } from '../journal/fixtures.ts';
import { advance } from '../run/advance.ts';
import { type EmbeddedEngineOptions, embeddedEngine } from './embedded-engine.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 3_600_000;
const HEARTBEAT_MS = 20_000;
const dead = new Set<string>();

function engineOf({ store, parts }: RunBench, options: Partial<EmbeddedEngineOptions> = {}) {
  const { runQueue: queue } = store;
  if (!queue) throw new Error('The store has no queue.');
  const owner: RunOwner = { id: crypto.randomUUID(), pid: process.pid, startedAt: 'now' };
  const engine = embeddedEngine({
    journal: parts.journal,
    queue,
    advance: (claimed, signal) => advance(claimed, parts, signal),
    owner,
    isAlive: ({ id }) => !dead.has(id),
    ...options,
  });
  onTestFinished(() => engine.close());
  return { engine, owner };
}

const status = async (bench: RunBench, run: { readonly id: string }) => (await bench.store.runs.get(run.id))?.status;

const ASK = aStep('approval', { id: 'ok', title: { value: 'Go on?' }, quorum: 1, onExpire: 'fail' });

describe('the embedded engine', () => {
  verifies('W5', 'executes the runs that its process starts, and none of others', async () => {
    const bench = await runBench();
    const { engine } = engineOf(bench);
    const other = await bench.create(aWorkflow([aCallStep('write2')]));
    const own = await bench.create(aWorkflow([aCallStep('write')]));
    await engine.start(own.id);
    await until('the run has ended', async () => (await status(bench, own)) === 'succeeded');
    expect(await status(bench, other)).toBe('running');
    expect(bench.reached.map(({ tool }) => tool)).toEqual(['write']);
  });

  verifies('W5', 'picks up runs of other processes if it is told to', async () => {
    const bench = await runBench();
    const run = await bench.create(aWorkflow([aCallStep('write')]));
    engineOf(bench, { pickUp: true });
    await until('the run has ended', async () => (await status(bench, run)) === 'succeeded');
  });

  verifies('W5', 'executes no run of another origin: it is neither picked up nor woken nor resumed', async () => {
    const bench = await runBench();
    const [shop, clone] = [{ folder: '/shop' }, { folder: '/clone' }];
    const foreign = await bench.create(aWorkflow([aCallStep('write')]), { origin: shop });
    const earlier = await bench.create(aWorkflow([aCallStep('write2')]));
    const timers: number[] = [];
    const timer: EmbeddedEngineOptions['timer'] = (delay) => {
      timers.push(delay);
      return () => {};
    };
    const { engine } = engineOf(bench, { pickUp: true, origin: clone, timer });
    await until('the run without an origin has ended', async () => (await status(bench, earlier)) === 'succeeded');
    await bench.store.runs.signal(foreign.id, { kind: 'resume', by: 'ops', detail: {} });
    await engine.wake(foreign.id);
    const refused = { code: 'USAGE_INVALID', fix: expect.stringContaining('cd /shop') };
    await expect(engine.resume(foreign.id)).rejects.toMatchObject(refused);
    await engine.close();
    expect(await status(bench, foreign)).toBe('running');
    // A due run of another origin sets no timer: it would fire at once, again and again.
    expect(timers.filter((delay) => delay === 0)).toEqual([]);
    engineOf(bench, { pickUp: true, origin: shop });
    await until('the run has ended', async () => (await status(bench, foreign)) === 'succeeded');
  });

  verifies('W3', 'suspends a run that waits for an approver, and goes on with its decision', async () => {
    const bench = await runBench();
    const { engine } = engineOf(bench);
    const run = await bench.create(aWorkflow([ASK, aCallStep('write')]));
    await engine.start(run.id);
    await until('the run waits', async () => (await status(bench, run)) === 'waiting');
    bench.decisions.set(`ap_${run.id}_ok`, { kind: 'approved', by: ['ops'], at: timeNow() });
    await bench.store.runs.signal(run.id, { kind: 'decided', by: 'ops', detail: { approval: `ap_${run.id}_ok` } });
    await until('the run has ended', async () => (await status(bench, run)) === 'succeeded');
    expect(bench.requested).toEqual(['ok']);
  });

  verifies('W5', 'takes over the runs of a dead process at once, and never those of a living one', async () => {
    const bench = await runBench();
    const stuck = Promise.withResolvers<never>();
    bench.respond('read', () => stuck.promise);
    const first = engineOf(bench);
    const run = await bench.create(aWorkflow([aCallStep('read')]));
    await first.engine.start(run.id);
    await until('the call is in flight', () => bench.reached.length === 1);
    const second = engineOf(bench);
    await expect(second.engine.resume(run.id)).rejects.toMatchObject({ code: 'RUN_OWNED' });
    dead.add(first.owner.id);
    bench.respond('read', () => completeWith({ second: true }));
    await second.engine.resume(run.id);
    await until('the run has ended', async () => (await status(bench, run)) === 'succeeded');
    expect(await bench.output(run)).toEqual({ second: true });
    expect(bench.reached.map(({ id }) => id)).toEqual([bench.reached[0]?.id, bench.reached[0]?.id]);
    stuck.reject(new Error('too late'));
  });

  verifies('W5', 'resumes a run later if it already executes as many as it may', async () => {
    const bench = await runBench();
    const gate = Promise.withResolvers<void>();
    bench.respond('read', () => gate.promise.then(() => completeWith({})));
    const { engine } = engineOf(bench, { maxRunning: 1 });
    const first = await bench.create(aWorkflow([aCallStep('read')]));
    const second = await bench.create(aWorkflow([aCallStep('write')]));
    await engine.start(first.id);
    await engine.resume(second.id);
    expect(await status(bench, second)).toBe('running');
    gate.resolve();
    await until('both have ended', async () => (await status(bench, second)) === 'succeeded');
  });

  verifies('W5', 'shares a file with another engine: each run is executed once', async () => {
    const bench = await runBench();
    const runs = await Promise.all(
      Array.from({ length: 20 }, () => bench.create(aWorkflow([aCallStep('write'), aCallStep('write2')]))),
    );
    engineOf(bench, { pickUp: true, maxRunning: 3 });
    engineOf(bench, { pickUp: true, maxRunning: 3 });
    for (const run of runs) await until('the run has ended', async () => (await status(bench, run)) === 'succeeded');
    for (const run of runs) expect(bench.called(run)).toEqual(['write', 'write2']);
  });

  verifies('W5', 'goes on after the store has refused a write, and does not repeat a call', async () => {
    const bench = await runBench();
    const { engine } = engineOf(bench, { timer: (_delay, callback) => realTimer(1, callback) });
    bench.respond('write', async () => {
      await bench.store.breakAudit();
      return completeWith({});
    });
    const run = await bench.create(aWorkflow([aCallStep('write'), aCallStep('write2')]));
    await engine.start(run.id);
    await until('the first call was made', () => bench.called(run).length === 1);
    await bench.store.repairAudit();
    await until('the run has ended or is in doubt', async () =>
      ['succeeded', 'in_doubt', 'failed'].includes((await status(bench, run)) ?? ''),
    );
    expect(bench.called(run).filter((tool) => tool === 'write')).toEqual(['write']);
  });

  verifies('W5', 'goes on with a run that has waited, after an execution has failed', async () => {
    const bench = await runBench();
    let executions = 0;
    const run = await bench.create(aWorkflow([aStep('wait', { id: 'pause', for: MINUTE_MS }), aCallStep('write')]));
    await bench.advance(run);
    engineOf(bench, {
      pickUp: true,
      clock: () => timeNow() + MINUTE_MS,
      timer: (_delay, callback) => realTimer(1, callback),
      async advance(claimed, signal) {
        if (++executions === 1) throw new HeddleError('STORE_UNAVAILABLE', 'The disk is full.');
        return advance(claimed, { ...bench.parts, clock: () => timeNow() + MINUTE_MS }, signal);
      },
    });
    await until('the run has ended', async () => (await status(bench, run)) === 'succeeded');
    expect(bench.called(run)).toEqual(['write']);
  });

  verifies('W5', 'cancels a run by a signal while a call is in flight', async () => {
    const bench = await runBench();
    bench.respond(
      'write',
      ({ signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    );
    const { engine } = engineOf(bench);
    const run = await bench.create(aWorkflow([aCallStep('write')]));
    await engine.start(run.id);
    await until('the call is in flight', () => bench.reached.length === 1);
    await bench.store.runs.signal(run.id, { kind: 'cancel', by: 'ada', detail: { reason: 'A typo.' } });
    await until('the run has ended', async () => (await status(bench, run)) === 'cancelled');
    expect(await bench.get(run)).toMatchObject({ error: { message: 'ada cancelled the run: A typo.' } });
  });

  verifies('W5', 'reads a signal again that the store could not read, and leaves no watcher', async () => {
    let [failures, watchers] = [0, 0];
    const bench = await runBench(({ journal }) => ({
      timer: (_delay, callback) => realTimer(1, callback),
      journal: {
        ...journal,
        async signals(run, after) {
          if (failures-- > 0) throw new HeddleError('STORE_UNAVAILABLE', 'The disk is full.');
          return journal.signals(run, after);
        },
        watch(onChange) {
          const end = journal.watch(onChange);
          watchers++;
          return () => {
            watchers--;
            end();
          };
        },
      },
    }));
    bench.respond(
      'write',
      ({ signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    );
    const run = await bench.create(aWorkflow([aCallStep('write')]));
    failures = 1;
    await expect(bench.advance(run)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(watchers).toBe(0);
    const { engine } = engineOf(bench, { isAlive: () => false });
    await engine.start(run.id);
    await until('the call is in flight', () => bench.reached.length === 1);
    failures = 1;
    await bench.store.runs.signal(run.id, { kind: 'cancel', by: 'ada', detail: {} });
    await until('the run has ended', async () => (await status(bench, run)) === 'cancelled');
  });

  verifies('W5', 'finishes calls in flight when it closes, and leaves the run to the next process', async () => {
    const bench = await runBench();
    const response = Promise.withResolvers<ReturnType<typeof completeWith>>();
    bench.respond('write', () => response.promise);
    const { engine } = engineOf(bench);
    const run = await bench.create(aWorkflow([aCallStep('write'), aCallStep('write2')]));
    await engine.start(run.id);
    await until('the call is in flight', () => bench.reached.length === 1);
    const closed = engine.close();
    response.resolve(completeWith({}));
    await closed;
    expect(bench.reached.map(({ tool }) => tool)).toEqual(['write']);
    engineOf(bench, { pickUp: true });
    await until('the run has ended', async () => (await status(bench, run)) === 'succeeded');
    expect(bench.reached.map(({ tool }) => tool)).toEqual(['write', 'write2']);
  });

  verifies('W5', 'sets no timer of more than a day for a run that waits longer', async () => {
    const bench = await runBench();
    const delays: number[] = [];
    const { engine } = engineOf(bench, {
      timer: (delayMs) => {
        delays.push(delayMs);
        return () => {};
      },
    });
    const run = await bench.create(aWorkflow([aStep('wait', { id: 'w', for: 29 * DAY_MS })], { wallMs: 30 * DAY_MS }));
    await engine.start(run.id);
    await until('the run waits', async () => (await status(bench, run)) === 'waiting');
    await until('the timer is set', () => delays.some((delayMs) => delayMs > 3_600_000));
    expect(Math.max(...delays)).toBe(DAY_MS);
  });

  verifies('W5', 'waits before it looks again for a run that another process has taken over', async () => {
    const bench = await runBench();
    const due: (() => void)[] = [];
    const delays: number[] = [];
    let aheadMs = 0;
    const startedAt = timeNow();
    const first = engineOf(bench, {
      clock: () => startedAt + aheadMs,
      timer: (delayMs, callback) => {
        delays.push(delayMs);
        due.push(callback);
        return () => {};
      },
    });
    const branches = [
      { id: 'a', steps: [aStep('wait', { id: 'w', for: 3_600_000 })] },
      { id: 'b', steps: [ASK, aCallStep('read')] },
    ];
    const both = aStep('parallel', { id: 'p', branches, mode: 'first', shape: 'winner' });
    const run = await bench.create(aWorkflow([both]));
    await first.engine.start(run.id);
    await until('the run waits', async () => (await status(bench, run)) === 'waiting');
    const stuck = Promise.withResolvers<ReturnType<typeof completeWith>>();
    bench.respond('read', () => stuck.promise);
    bench.decisions.set(`ap_${run.id}_p/b/ok`, { kind: 'approved', by: ['ops'], at: timeNow() });
    await engineOf(bench).engine.resume(run.id);
    await until('the call is in flight', () => bench.reached.length === 1);
    aheadMs = 7_200_000;
    delays.length = 0;
    for (const callback of due.splice(0)) callback();
    const looks = () => delays.filter((delayMs) => delayMs !== HEARTBEAT_MS);
    await until('the first engine has looked', () => looks().length > 0);
    expect(Math.min(...looks())).toBeGreaterThanOrEqual(1000);
    stuck.resolve(completeWith({}));
    await until('the run has ended', async () => (await status(bench, run)) === 'succeeded');
  });
});
