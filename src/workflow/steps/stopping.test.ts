import { getEventListeners } from 'node:events';
import { describe, expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { RunCode } from '../../core/code.ts';
import type { Mapping, Step, StepBase, Workflow } from '../definition/canonical.ts';
import { aCallStep, aStep, aWorkflow, cel, ref, type Simulation, simulate, world } from '../fixtures.ts';
import type { World } from './fixtures.ts';

const FAILED = { error: { code: 'UPSTREAM_FAILED', mayHaveActed: false } };
const EMPTY: Mapping = { value: {} };
const run = (steps: readonly Step[], of: World = world()) => simulate(aWorkflow(steps), of);

/** A step that commits at once and is undone by the tool `undo-<id>`. */
const undone = (id: string): Step =>
  aCallStep(id, { compensate: { tool: `undo-${id}`, input: { object: { was: ref('self.result.tool') } } } });

describe('compensation', () => {
  verifies('W3', 'undoes committed steps in reverse when the run stops, each once, with $self', async () => {
    const branches = ['b', 'c'].map((id) => ({ id, steps: [undone(id)] }));
    const steps = [
      undone('a'),
      aStep('parallel', { id: 'p', mode: 'all', shape: 'keyed', branches }),
      aCallStep('bad'),
    ];
    const end = await run(steps, world({ bad: FAILED, b: { result: { tool: 'b' }, afterMs: 20 } }));
    expect(end).toMatchObject({ status: 'failed', error: { code: 'UPSTREAM_FAILED', path: 'bad' } });
    expect(end.tools).toEqual(['a', 'b', 'c', 'bad', 'undo-c', 'undo-b', 'undo-a']);
    expect(end.durable.calls.at(-1)).toMatchObject({ path: 'a/~compensate', input: { was: 'a' } });
  });

  verifies('W3', 'goes on after a compensation that fails, and reports it', async () => {
    const end = await run([undone('a'), undone('b'), aCallStep('bad')], world({ bad: FAILED, 'undo-b': FAILED }));
    expect(end).toMatchObject({ status: 'compensation_failed', tools: ['a', 'b', 'bad', 'undo-b', 'undo-a'] });
    expect(end.error?.details?.compensations).toEqual([expect.objectContaining({ path: 'b/~compensate' })]);
  });

  verifies('W3', 'undoes nothing when the run succeeds, and a step whose `output` fails', async () => {
    expect((await run([undone('a')])).tools).toEqual(['a']);
    const step = { ...undone('a'), output: { x: ref('self.result.missing') } };
    expect(await run([step])).toMatchObject({ error: { code: 'EXPRESSION_FAILED' }, tools: ['a', 'undo-a'] });
  });
});

const neverDone: RunCode = (_, { signal, call }) => {
  void call(0, 'slow', {}).catch(() => {});
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))));
};

/** A step of each kind that does not end within 100 s. */
const ENDLESS: readonly Step[] = [
  aCallStep('slow'),
  aStep('workflow', { id: 'slow', workflow: 'slow', input: EMPTY }),
  aStep('sequential', { id: 'slow', steps: [undone('quick'), aCallStep('slow')] }),
  aStep('pipeline', { id: 'slow', parts: [{ enrich: { tool: 'slow', input: EMPTY, as: 'x' } }] }),
  aStep('parallel', {
    id: 'slow',
    mode: 'first',
    shape: 'winner',
    branches: [{ id: 'a', steps: [aCallStep('slow')] }],
  }),
  aStep('switch', { id: 'slow', cases: [], else: [aCallStep('slow')] }),
  aStep('fanout', {
    ...{ id: 'slow', items: { value: [1, 2, 3] }, as: 'item', maxConcurrency: 2, shape: 'report' },
    steps: [aCallStep('slow')],
  }),
  aStep('loop', {
    ...{ id: 'slow', test: { while: cel('true') }, maxIterations: 1000, atMax: 'fail', shape: 'last', delayMs: 9e8 },
    steps: [aCallStep('quick')],
  }),
  aStep('wait', { id: 'slow', for: 9e8 }),
  aStep('approval', { id: 'slow', title: { value: 'Go on?' }, quorum: 1, onExpire: 'reject' }),
  aStep('code', { id: 'slow', source: '', tools: ['slow'], limits: { wallMs: 1e9, memoryBytes: 1e6, calls: 5 } }),
];

const slowWorld = (rest: Partial<World> = {}): World =>
  world({ slow: { afterMs: 9e8 }, mcp__workflow__slow: { afterMs: 9e8 } }, rest);

function expectNothingLeft({ durable }: Simulation): void {
  expect([...durable.open.keys()]).toEqual([]);
  expect(getEventListeners(durable.cancelled, 'abort')).toEqual([]);
}

describe.each(ENDLESS)('$kind', (step) => {
  const simulated = (workflow: Workflow, of: World) => simulate(workflow, of, { runCode: neverDone });
  const later = aCallStep('later');

  verifies('W3', 'ends at once when the run is cancelled; compensations run, later steps do not', async () => {
    const reason = {
      status: 'cancelled',
      error: { code: 'CANCELLED', message: 'The owner cancelled the run.' },
    } as const;
    const patient = { ...step, onError: 'skip' } as Step;
    const of = slowWorld({ cancelAt: 500, cancelReason: reason });
    const end = await simulated(aWorkflow([undone('first'), patient, later]), of);
    expect(end).toMatchObject(reason);
    expect(end.durable.time).toBeLessThan(510);
    expect(end.tools.filter((tool) => tool === 'undo-first')).toHaveLength(1);
    expect(end.tools).not.toContain('later');
    expectNothingLeft(end);
  });

  // Waiting for a person uses no clock.
  const over = step.kind === 'approval' ? 'suspended' : 'succeeded';
  verifies('W3', `ends when its timeout is over, and onError applies: ${over}`, async () => {
    const timed = { ...step, timeoutMs: 500, onError: 'skip' } as Step;
    const end = await simulated(aWorkflow([timed, later]), slowWorld());
    expect(end.status).toBe(over);
    if (over === 'suspended') return;
    expect(end.durable.time).toBeLessThan(510);
    expect(end.tools.at(-1)).toBe('later');
    expectNothingLeft(end);
  });

  verifies('W3', `ends when totalTimeout is over, in spite of retries: ${over}`, async () => {
    const retry: StepBase['retry'] = {
      max: 9,
      backoff: 'fixed',
      initialMs: 1,
      capMs: 1,
      jitter: false,
      on: ['TIMEOUT'],
    };
    const timed = { ...step, timeoutMs: 400, totalTimeoutMs: 500, retry } as Step;
    const end = await simulated(aWorkflow([timed]), { ...slowWorld(), tool: () => ({ ...FAILED, afterMs: 9e8 }) });
    expect(end.status).toBe(over === 'suspended' ? over : 'failed');
    if (over === 'suspended') return;
    expect(end).toMatchObject({ error: { code: 'TIMEOUT' } });
    expect(end.durable.time).toBeLessThan(510);
    expectNothingLeft(end);
  });

  verifies('W3', 'ends with the run when its time is over', async () => {
    const end = await simulated(aWorkflow([undone('first'), step], { wallMs: 1000 }), slowWorld());
    if (step.kind === 'approval') return expect(end.status).toBe('suspended');
    expect(end).toMatchObject({
      status: 'failed',
      error: { code: 'TIMEOUT', message: expect.stringContaining('run') },
    });
    return expect(end.tools.at(-1)).toBe('undo-first');
  });
});

describe('approval', () => {
  const approval = (rest: object = {}) =>
    aStep('approval', {
      id: 'ok',
      title: { template: ['Deploy ', cel('$input.n'), '?'] },
      quorum: 1,
      onExpire: 'reject',
      ...rest,
    });
  const decided = (step: Step, decision: object) => {
    const titles: string[] = [];
    const decide: World['decide'] = (_, { title }) => {
      titles.push(title);
      return { afterMs: 7_200_000, kind: 'approved', ...decision };
    };
    return simulate(aWorkflow([step]), world({}, { decide }), { input: { n: 7 } }).then((end) => ({ ...end, titles }));
  };

  verifies(
    'W3',
    'has the decision, its note and the content of the form as result; the wait uses no clock',
    async () => {
      const end = await decided(approval(), { content: { label: 'nda' }, note: 'fine' });
      expect(end).toMatchObject({
        output: { approved: true, by: ['approver'], note: 'fine', label: 'nda' },
        titles: ['Deploy 7?'],
      });
      expect((await decided(approval(), { kind: 'rejected' })).output).toEqual({ approved: false, by: ['approver'] });
    },
  );

  verifies('W3', 'expires as a rejection, or fails with `onExpire: fail`', async () => {
    expect((await decided(approval(), { kind: 'expired' })).output).toMatchObject({ approved: false, expired: true });
    const end = await decided(approval({ onExpire: 'fail' }), { kind: 'expired' });
    expect(end.error).toMatchObject({ code: 'APPROVAL_TIMED_OUT', path: 'ok' });
  });
});

describe('wait', () => {
  const until = (value: unknown) => run([aStep('wait', { id: 'w', until: { value: value as string } })]);

  verifies('W3', 'waits until a time, given as text or milliseconds; anything else fails', async () => {
    expect((await until('1970-01-01T00:00:10Z')).durable.time).toBe(10_000);
    expect((await until(5000)).durable.time).toBe(5000);
    expect((await until('tomorrow')).error).toMatchObject({ code: 'EXPRESSION_FAILED' });
  });
});

describe('code', () => {
  const step = aStep('code', {
    id: 'c',
    source: '…',
    tools: ['t'],
    limits: { wallMs: 1000, memoryBytes: 1e6, calls: 5 },
  });

  verifies('W3', 'delivers results in the order of the calls, and calls below its path', async () => {
    const order: number[] = [];
    const runCode: RunCode = async (_, { call }) => {
      const calls = [0, 1].map((index) => call(index, 't', { index }).then(() => order.push(index)));
      await Promise.all(calls);
      return order.length;
    };
    const of: World = { tool: ({ input }) => ({ result: {}, afterMs: input.index === 0 ? 50 : 5 }) };
    const end = await simulate(aWorkflow([step]), of, { runCode });
    expect(end.output).toBe(2);
    expect(order).toEqual([0, 1]);
    expect(end.durable.calls.map(({ path }) => path)).toEqual(['c/[0]', 'c/[1]']);
  });

  verifies(
    'W5',
    'executes code again after a crash with the recorded calls, but not once its end is recorded',
    async () => {
      let executed = 0;
      const runCode: RunCode = async ({ seed }, { call }) => {
        executed++;
        return { seed, from: await call(0, 't', {}) };
      };
      const whole = await simulate(aWorkflow([step, aCallStep('x')]), world(), { runCode });
      const journal = whole.durable.journal;
      for (const [at, { path }] of journal.entries()) {
        executed = 0;
        const again = await simulate(aWorkflow([step]), world(), { runCode, journal: journal.slice(0, at + 1) });
        const isRecorded = journal.slice(0, at + 1).some((entry) => entry.path === 'c/~result');
        expect({ path, executed, output: again.output }).toMatchObject({
          executed: isRecorded ? 0 : 1,
          output: { from: { tool: 't' } },
        });
      }
    },
  );
});
