import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { UpstreamError } from '../../core/errors.ts';
import type { RunEvent } from '../../core/records/run.ts';
import { ANN, logEvent, RUN, resultOf, runEvent, scriptedRun } from './fixtures.ts';
import { type FollowedRun, followRun } from './follow-run.ts';
import type { WholeRun } from './print-run.ts';
import { followToEnd, type RunSite } from './run-at-terminal.ts';
import { inDoubt } from './run-errors.ts';

const PAY_IN_DOUBT = { path: 'pay', tool: 'bank.pay', callId: 'c', since: 1, records: [] };

function following(script: ReturnType<typeof scriptedRun>, more: Partial<FollowedRun> = {}) {
  const shown: RunEvent[] = [];
  const paths: string[] = [];
  const end = followRun({
    ...{ id: 'run_1', by: ANN, runs: script.runs, signal: new AbortController().signal },
    progress: {
      add(events, prefix = '') {
        shown.push(...events);
        paths.push(...events.map(({ path }) => `${prefix}${path}`));
      },
      aside: (prompt) => prompt(),
      end() {},
    },
    decide: async () => true,
    ...more,
  });
  return { end, shown, paths };
}

verifies('W6', 'following shows every event once, also those written right before the end', async () => {
  const script = scriptedRun();
  const all = [logEvent('a', 'start', 1), logEvent('a', 'complete', 2), logEvent('b', 'start', 3)];
  script.add(...all.slice(0, 2));
  const { end, shown } = following({
    ...script,
    runs: {
      ...script.runs,
      async settled() {
        script.add(...all.slice(2));
        return resultOf('succeeded');
      },
    },
  });
  expect(await end).toMatchObject({ kind: 'ended', result: { success: true } });
  expect(shown).toEqual(all);
});

verifies('W5', 'following ends with the steps in doubt, once the run has nothing else to do', async () => {
  const script = scriptedRun();
  script.add(runEvent('doubt', 'pay', 1));
  const { end } = following(
    {
      ...script,
      runs: {
        ...script.runs,
        async get(by, id) {
          const before = await script.runs.get(by, id);
          script.become({ status: 'in_doubt', doubts: [PAY_IN_DOUBT] }); // Another branch has run until now.
          return before;
        },
      },
    },
    { quietMs: 0 },
  );
  expect(await end).toEqual({ kind: 'in-doubt', run: 'run_1', paths: ['pay'] });
});

verifies('G6', 'the user decides on each approval of a run that waits, and then the run goes on', async () => {
  const script = scriptedRun();
  script.become({ status: 'waiting' });
  script.add(runEvent('waiting', 'ok', 1, { approval: 'ap_1' }));
  const decided: string[] = [];
  const { end } = following(script, {
    async decide(approval) {
      decided.push(approval);
      script.end(resultOf('succeeded'));
      return true;
    },
  });
  expect(await end).toMatchObject({ kind: 'ended' });
  expect(decided).toEqual(['ap_1']);
});

/** Runs of which each has the next one as the child of its step `sub`. Only the last one does something itself. */
function nestedRuns(last: readonly RunEvent[], status: WholeRun['status']) {
  const { runs, ...script } = scriptedRun();
  const ids = ['run_1', 'run_2', 'run_3'];
  const continuation = { kind: 'task', server: 'workflow', taskId: 'run_2' };
  const histories = [
    [runEvent('continued', 'sub', 1, { continuation }), logEvent('sub', 'complete', 5)],
    [runEvent('waiting', 'sub', 2, { child: 'run_3', since: 2 })],
    last,
  ];
  const nested: FollowedRun['runs'] = {
    ...runs,
    events: async (_by, id, after = 0) => (histories[ids.indexOf(id)] ?? []).filter(({ sequence }) => sequence > after),
    async get(by, id) {
      const doubts = id === 'run_3' && status === 'in_doubt' ? [PAY_IN_DOUBT] : [];
      return { ...(await runs.get(by, id)), id, status: id === 'run_3' ? status : 'waiting', doubts };
    },
  };
  return { ...script, runs: nested };
}

verifies('G6', 'the user decides on the approvals of runs below the run, whose steps are shown in order', async () => {
  const last = [logEvent('ok', 'start', 3), runEvent('waiting', 'ok', 4, { approval: 'ap_1' })];
  const script = nestedRuns(last, 'waiting');
  const { end, paths } = following(script, {
    async decide(approval) {
      expect(approval).toBe('ap_1');
      script.end(resultOf('succeeded'));
      return true;
    },
  });
  expect(await end).toMatchObject({ kind: 'ended' });
  expect(paths).toEqual(['sub', 'sub/sub', 'sub/sub/ok', 'sub/sub/ok', 'sub']);
});

verifies(
  'W5',
  'following ends with the run below whose call is in doubt, and asks nothing while one executes',
  async () => {
    const { end } = following(nestedRuns([runEvent('doubt', 'pay', 3)], 'in_doubt'), { quietMs: 0 });
    expect(await end).toEqual({ kind: 'in-doubt', run: 'run_3', paths: ['pay'] });
    expect(inDoubt('run_3', ['pay'], RUN).fix).toContain('`heddle runs resume run_1`');
    const script = nestedRuns([runEvent('waiting', 'ok', 3, { approval: 'ap_1' })], 'running');
    const left = new AbortController();
    async function get(...[by, id]: Parameters<FollowedRun['runs']['get']>) {
      if (id === 'run_3') left.abort();
      return script.runs.get(by, id);
    }
    const decide = () => Promise.reject(new Error('It asked.'));
    const executing = following({ ...script, runs: { ...script.runs, get } }, { signal: left.signal, decide });
    expect(await executing.end).toEqual({ kind: 'left' });
  },
);

verifies('L4', 'following ends with the approval that the command cannot settle', async () => {
  const script = scriptedRun();
  script.become({ status: 'waiting' });
  script.add(runEvent('waiting', 'ok', 1, { approval: 'ap_1' }));
  const { end } = following(script, { decide: async () => false });
  expect(await end).toEqual({ kind: 'approval', approval: 'ap_1' });
});

verifies('W6', 'an abort ends the following and not the run', async () => {
  const script = scriptedRun();
  const left = new AbortController();
  const { end } = following(script, { signal: left.signal });
  left.abort();
  expect(await end).toEqual({ kind: 'left' });
});

verifies(
  'F8',
  'the error of a gateway that ended names the run, which a repeated command would begin again',
  async () => {
    const { runs } = scriptedRun();
    const lost = new UpstreamError('UPSTREAM_FAILED', 'The connection to the gateway was lost.', { delivered: 'no' });
    const heddle = { runs: { ...runs, settled: async () => Promise.reject(lost) }, approvals: {} };
    const followed = followToEnd({ heddle: heddle as unknown as RunSite['heddle'], by: ANN, json: false }, RUN);
    await expect(followed).rejects.toMatchObject({
      code: 'UPSTREAM_FAILED',
      message: 'The connection to the gateway was lost. The run run_1 has not ended.',
      fix: expect.stringContaining('heddle runs resume run_1'),
    });
  },
);
