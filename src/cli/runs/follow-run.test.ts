import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { UpstreamError } from '../../core/errors.ts';
import type { RunEvent } from '../../core/records/run.ts';
import { ANN, logEvent, RUN, resultOf, runEvent, scriptedRun } from './fixtures.ts';
import { type FollowedRun, followRun } from './follow-run.ts';
import { followToEnd, type RunSite } from './run-at-terminal.ts';

function following(script: ReturnType<typeof scriptedRun>, more: Partial<FollowedRun> = {}) {
  const shown: RunEvent[] = [];
  const end = followRun({
    ...{ id: 'run_1', by: ANN, runs: script.runs, signal: new AbortController().signal },
    progress: {
      add: (events) => void shown.push(...events),
      aside: (prompt) => prompt(),
      end() {},
    },
    decide: async () => true,
    ...more,
  });
  return { end, shown };
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
          const doubt = { path: 'pay', tool: 'bank.pay', callId: 'c', since: 1, records: [] };
          script.become({ status: 'in_doubt', doubts: [doubt] }); // Another branch has run until now.
          return before;
        },
      },
    },
    { quietMs: 0 },
  );
  expect(await end).toEqual({ kind: 'in-doubt', paths: ['pay'] });
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
