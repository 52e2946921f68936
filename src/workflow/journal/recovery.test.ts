import { describe, expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { until } from '../../../test/until.ts';
import { HeddleError } from '../../core/errors.ts';
import type { StepBase, ToolStep } from '../definition/canonical.ts';
import { aCallStep, aStep, aWorkflow } from '../fixtures.ts';
import { completeWith, type RunBench, runBench, timeNow } from './fixtures.ts';

/** Begins a run of one call, and kills the process at a point of the call. */
async function crashed(
  bench: RunBench,
  tool: string,
  at: 'intent' | 'response',
  rest: Partial<ToolStep & StepBase> = {},
) {
  const run = await bench.create(aWorkflow([{ ...aCallStep(tool), ...rest } as ReturnType<typeof aCallStep>]));
  if (at === 'intent') bench.killAfter(1, 'started');
  const sent = () => completeWith({ sent: bench.called(run).length });
  bench.respond(tool, () => {
    if (at === 'response') bench.kill();
    return sent();
  });
  expect(await bench.advance(run)).toEqual({ kind: 'lost' });
  bench.respond(tool, sent);
  return run;
}

describe('after a crash, a call', () => {
  verifies('W5', 'that was begun and never sent is sent with the same id', async () => {
    const bench = await runBench();
    const run = await crashed(bench, 'write', 'intent');
    expect(bench.reached).toEqual([]);
    const started = (await bench.entries(run)).find((entry) => entry.kind === 'started');
    expect(await bench.advance(run)).toEqual({ kind: 'ended' });
    expect(bench.reached).toMatchObject([{ tool: 'write', id: started?.detail.callId }]);
  });

  verifies('W5', 'that was never sent has its whole timeout, however long no process executed the run', async () => {
    let aheadMs = 0;
    const bench = await runBench(() => ({ clock: () => timeNow() + aheadMs }));
    const run = await crashed(bench, 'write', 'intent', { timeoutMs: 60_000 });
    aheadMs = 600_000;
    expect(await bench.advance(run)).toEqual({ kind: 'ended' });
    expect((await bench.get(run)).status).toBe('succeeded');
    const starts = (await bench.entries(run)).flatMap(({ kind, at }) => (kind === 'started' ? at : []));
    expect(Number(starts[1]) - Number(starts[0])).toBeGreaterThanOrEqual(600_000);
  });

  verifies('W5', 'that an outage of the store has refused is made in a later execution', async () => {
    for (const code of ['STORE_UNAVAILABLE', 'AUDIT_UNAVAILABLE'] as const) {
      const bench = await runBench(({ dispatch }) => ({
        async dispatch(call) {
          if (isDown) throw new HeddleError(code, 'The database is starting up.');
          return dispatch(call);
        },
      }));
      let isDown = true;
      const run = await bench.create(aWorkflow([aCallStep('write')]));
      expect(await bench.advance(run)).toEqual({ kind: 'lost' });
      isDown = false;
      expect(await bench.advance(run)).toEqual({ kind: 'ended' });
      expect([(await bench.get(run)).status, bench.called(run)]).toEqual(['succeeded', ['write']]);
    }
  });

  verifies('W5', 'that may be repeated is sent again with the same id and key', async () => {
    const bench = await runBench();
    const cases = [
      ['read', {}],
      ['put', {}],
      ['write', { idempotency: 'auto' }],
      ['write', { idempotency: { value: 'order-7' } }],
    ] as const;
    for (const [tool, rest] of cases) {
      const run = await crashed(bench, tool, 'response', rest);
      expect(await bench.advance(run)).toEqual({ kind: 'ended' });
      const [first, second, ...more] = bench.reached.splice(0);
      expect([second, more]).toEqual([first, []]);
      expect(first?.key).toEqual('idempotency' in rest && rest.idempotency !== 'auto' ? 'order-7' : expect.any(String));
    }
  });

  verifies('W5', 'that may have happened is in doubt and not sent again', async () => {
    const bench = await runBench();
    const run = await crashed(bench, 'write', 'response');
    expect(await bench.advance(run)).toEqual({ kind: 'suspended' });
    expect(await bench.get(run)).toMatchObject({ status: 'in_doubt' });
    expect(await bench.advance(run)).toEqual({ kind: 'suspended' });
    expect(bench.called(run)).toEqual(['write']);
    const doubts = (await bench.entries(run)).filter(({ kind }) => kind === 'doubt');
    expect(doubts).toMatchObject([{ path: 'write', detail: { tool: 'write', callId: bench.reached[0]?.id } }]);
  });

  verifies('W5', 'in doubt is settled by a person: it happened, it did not, or it is tried again', async () => {
    const bench = await runBench();
    const resolutions = [
      [{ how: 'happened', result: { sent: 7 } }, 1, { sent: 7 }],
      [{ how: 'happened' }, 1, {}],
      [{ how: 'not-happened' }, 2, { sent: 2 }],
      [{ how: 'retry', path: 'write' }, 2, { sent: 2 }],
    ] as const;
    for (const [resolution, sent, output] of resolutions) {
      const run = await crashed(bench, 'write', 'response');
      await bench.advance(run);
      await bench.store.runs.signal(run.id, { kind: 'resolve', by: 'ops', detail: resolution });
      expect(await bench.advance(run)).toEqual({ kind: 'ended' });
      expect(await bench.get(run)).toMatchObject({ status: 'succeeded' });
      expect(await bench.output(run)).toMatchObject(output);
      expect(new Set(bench.reached.splice(0).map(({ id }) => id)).size).toBe(sent);
      const resolved = (await bench.entries(run)).find(({ kind }) => kind === 'resolved');
      expect(resolved).toMatchObject({ path: 'write', detail: { how: resolution.how, by: 'ops' } });
    }
  });

  verifies('W5', 'in doubt stays so after a decision with an unknown word', async () => {
    const bench = await runBench();
    const run = await crashed(bench, 'write', 'response');
    await bench.advance(run);
    await bench.store.runs.signal(run.id, { kind: 'resolve', by: 'ops', detail: { how: 'hapened' } });
    expect(await bench.advance(run)).toEqual({ kind: 'suspended' });
    expect(await bench.get(run)).toMatchObject({ status: 'in_doubt' });
    expect(bench.called(run)).toEqual(['write']);
  });

  verifies('W5', 'in doubt is sent again or fails if its step says so', async () => {
    const bench = await runBench();
    const again = await crashed(bench, 'write', 'response', { onInDoubt: 'retry' });
    expect(await bench.advance(again)).toEqual({ kind: 'ended' });
    expect(bench.called(again)).toEqual(['write', 'write']);
    const failing = await crashed(bench, 'write', 'response', { onInDoubt: 'fail' });
    expect(await bench.advance(failing)).toEqual({ kind: 'ended' });
    expect(await bench.get(failing)).toMatchObject({ status: 'failed', error: { code: 'OUTCOME_UNKNOWN' } });
    expect(bench.called(failing)).toEqual(['write']);
  });

  verifies('W5', 'in doubt is sent at most five times by the rule of its step', async () => {
    const bench = await runBench();
    const run = await bench.create(
      aWorkflow([{ ...aCallStep('write'), onInDoubt: 'retry' } as ReturnType<typeof aCallStep>]),
    );
    bench.respond('write', () => {
      if (bench.called(run).length > 8) return completeWith({});
      throw new HeddleError('OUTCOME_UNKNOWN', 'The connection was lost.');
    });
    expect(await bench.advance(run)).toEqual({ kind: 'ended' });
    expect(await bench.get(run)).toMatchObject({ status: 'failed', error: { code: 'OUTCOME_UNKNOWN' } });
    expect(bench.called(run)).toHaveLength(5);
  });

  verifies('W5', 'that a server runs as a task is followed, and not sent again', async () => {
    const bench = await runBench();
    const run = await bench.create(aWorkflow([aCallStep('write')]));
    let polls = 0;
    bench.respond('write', ({ continuation }) => {
      if (continuation?.kind !== 'task') {
        const next = { kind: 'task', server: 'demo', taskId: 't1', pollMs: 1 } as const;
        return { kind: 'working', task: {}, continuation: next };
      }
      polls++;
      if (polls === 1) bench.kill();
      return completeWith({ task: continuation.taskId });
    });
    expect(await bench.advance(run)).toEqual({ kind: 'lost' });
    expect(await bench.advance(run)).toEqual({ kind: 'ended' });
    expect(await bench.output(run)).toEqual({ task: 't1' });
    expect(bench.called(run)).toEqual(['write']);
  });

  verifies('W5', 'with a recorded end is never sent again', async () => {
    const bench = await runBench();
    const run = await bench.create(aWorkflow([aCallStep('write'), aCallStep('write2')]));
    bench.respond('write2', () => {
      bench.kill();
      return completeWith({});
    });
    await bench.advance(run);
    await bench.advance(run);
    expect(bench.called(run)).toEqual(['write', 'write2']);
  });

  verifies('W5', 'of a run whose key was revoked is not made', async () => {
    const bench = await runBench();
    const run = await crashed(bench, 'read', 'response');
    const revoked = { ...bench.parts, callerOf: async () => undefined };
    Object.assign(bench.parts, revoked);
    expect(await bench.advance(run)).toEqual({ kind: 'ended' });
    expect(await bench.get(run)).toMatchObject({ status: 'failed', error: { code: 'PERMISSION_DENIED' } });
    expect(bench.called(run)).toEqual(['read']);
  });

  verifies('W5', 'of a newer interpreter is not touched', async () => {
    const bench = await runBench();
    const run = await bench.create(aWorkflow([aCallStep('write')]));
    await bench.store.committed(`UPDATE runs SET interpreter = 99`);
    expect(await bench.advance(run)).toEqual({ kind: 'too-new' });
    expect((await bench.entries(run)).map(({ kind }) => kind)).toEqual(['created']);
  });

  verifies('W5', 'is in doubt if the audit records of its time were removed', async () => {
    const bench = await runBench();
    const run = await crashed(bench, 'write', 'intent');
    await bench.store.audit.prune(timeNow() + 1000, { always: true });
    expect(await bench.advance(run)).toMatchObject({ kind: 'suspended' });
    expect(await bench.get(run)).toMatchObject({ status: 'in_doubt' });
  });
});

describe('after a crash, a sub-workflow', () => {
  /** Begins a run, and kills the process before its child is created, or before the task of the child is journaled. */
  async function crashedParent(step: Parameters<typeof aWorkflow>[0][number], at: 'intent' | 'created') {
    let unknown = 0;
    const requireKnown = () => {
      if (unknown-- > 0) throw new HeddleError('NAME_UNKNOWN', 'Nothing is named mcp__workflow__child.');
    };
    const bench: RunBench = await runBench((basic) => ({
      async describe(call) {
        requireKnown();
        return basic.describe(call);
      },
      async dispatch(call) {
        requireKnown();
        return basic.dispatch(call);
      },
    }));
    bench.respond('mcp__workflow__child', async ({ id: callId, continuation, fence }) => {
      if (continuation?.kind === 'task') return completeWith({ child: continuation.taskId });
      const parent = fence && { run: fence.run, path: fence.path };
      if (isFirst && at === 'intent') return killed();
      const child = await bench.create(aWorkflow([]), { callId, ...(parent && { parent }) });
      if (isFirst) return killed();
      return {
        kind: 'working',
        task: {},
        continuation: { kind: 'task', server: 'workflow', taskId: child.id, pollMs: 1 },
      };
    });
    let isFirst = true;
    const killed = () => {
      isFirst = false;
      bench.kill();
      return completeWith({});
    };
    const run = await bench.create(aWorkflow([step]));
    expect(await bench.advance(run)).toEqual({ kind: 'lost' });
    const [child] = await bench.store.runs.list({ parent: run.id });
    if (child) await bench.advance(child);
    return { bench, run, child, forget: (lookups: number) => (unknown = lookups) };
  }

  const steps = [
    aStep('workflow', { id: 'sub', workflow: 'child', input: { value: {} } }),
    { ...aCallStep('mcp__workflow__child'), onInDoubt: 'retry' } as ReturnType<typeof aCallStep>,
    aCallStep('mcp__workflow__child'),
  ];

  verifies('W5', 'is found by its call and followed, also while its tool is unknown', async () => {
    for (const step of steps) {
      const { bench, run, child, forget } = await crashedParent(step, 'created');
      forget(2);
      expect(await bench.advance(run)).toEqual({ kind: 'ended' });
      expect(await bench.get(run)).toMatchObject({ status: 'succeeded' });
      expect(await bench.output(run)).toEqual({ child: child?.id });
      expect(await bench.store.runs.list({ parent: run.id })).toHaveLength(1);
      expect(bench.called(run)).toEqual(['mcp__workflow__child']);
    }
  });

  verifies('W5', 'that was not created yet is created once its tool is known', async () => {
    const [step] = steps;
    if (!step) return;
    const { bench, run, child, forget } = await crashedParent(step, 'intent');
    expect(child).toBeUndefined();
    forget(1);
    const ended = bench.advance(run);
    await until('the child is created', async () => (await bench.store.runs.list({ parent: run.id })).length > 0);
    const [created] = await bench.store.runs.list({ parent: run.id });
    if (created) await bench.advance(created);
    await bench.store.runs.signal(run.id, { kind: 'child-ended', by: 'heddle', detail: { run: created?.id ?? '' } });
    await ended;
    if ((await bench.get(run)).status === 'waiting') await bench.advance(run);
    expect(await bench.get(run)).toMatchObject({ status: 'succeeded' });
    expect(new Set(bench.reached.map(({ id }) => id)).size).toBe(1);
  });
});
