import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { HeddleError } from '../../core/errors.ts';
import { ada } from '../../core/fixtures.ts';
import type { RunResolution, StepInDoubt } from '../../core/records/run.ts';
import type { RunFilter, StoredRun } from '../../store/run-journal.ts';
import { type ChangeRunsOptions, changeRuns } from './change-runs.ts';

/** Returns the changes of one run with these steps in doubt, and the signals that they send. */
function changesOf(paths: readonly string[]) {
  const run = { id: 'r1', status: paths.length > 0 ? 'in_doubt' : 'running', caller: ada } as unknown as StoredRun;
  const signals: unknown[] = [];
  const options = {
    watch: { journal: { get: async () => run, signal: async (_id: string, sent: unknown) => signals.push(sent) } },
    find: { toChange: async () => run },
    engine: async () => ({ wake: async () => {} }),
    audited: async (_by: unknown, _change: unknown, act: () => Promise<unknown>) => act(),
    doubtsOf: async () => paths.map((path) => ({ path }) as StepInDoubt),
    requireOwnOrigin: async () => {},
  };
  return { changes: changeRuns(options as unknown as ChangeRunsOptions), signals };
}

verifies('W5', 'refuses an unknown decision, a step that is not in doubt and a run that is not', async () => {
  const cases: readonly (readonly [readonly string[], object, string])[] = [
    [['write'], { how: 'hapened' }, 'happened, not-happened, retry'],
    [['write'], {}, 'happened, not-happened, retry'],
    [['write'], { how: 'happened', path: 'wirte' }, 'write'],
    [['write'], { how: 'happened', path: 7 }, 'write'],
    [['one', 'two'], { how: 'retry' }, 'one, two'],
    [[], { how: 'retry' }, 'heddle runs show r1'],
  ];
  for (const [paths, resolution, fix] of cases) {
    const { changes, signals } = changesOf(paths);
    const resolved = changes.resolve(ada, 'r1', resolution as RunResolution);
    await expect(resolved).rejects.toMatchObject({ code: 'INPUT_INVALID', fix: expect.stringContaining(fix) });
    expect(signals).toEqual([]);
  }
});

verifies('W5', 'sends a decision to the run, for its only step in doubt or the named one', async () => {
  for (const [paths, path] of [
    [['write'], undefined],
    [['one', 'two'], 'two'],
  ] as const) {
    const { changes, signals } = changesOf(paths);
    await changes.resolve(ada, 'r1', { how: 'happened', ...(path && { path }) });
    expect(signals).toMatchObject([{ kind: 'resolve', detail: { how: 'happened', path: path ?? 'write' } }]);
  }
});

verifies('W5', 'resumes the open runs below a run with it, except those that a living process owns', async () => {
  const below: Readonly<Record<string, readonly string[]>> = { r1: ['r2', 'r3'], r2: ['r4'] };
  const resumed: string[] = [];
  const options = {
    watch: {
      journal: {
        get: async (id: string) => ({ id }),
        list: async ({ parent = '', status }: RunFilter) =>
          status === 'open' ? (below[parent] ?? []).map((id) => ({ id })) : [],
      },
    },
    find: { toChange: async () => ({ id: 'r1' }) },
    engine: async () => ({
      async resume(id: string) {
        resumed.push(id);
        if (id === 'r2') throw new HeddleError('RUN_OWNED', 'Another process executes the run r2.');
      },
    }),
    audited: async (_by: unknown, _change: unknown, act: () => Promise<unknown>) => act(),
    requireOwnOrigin: async () => {},
  };
  expect(await changeRuns(options as unknown as ChangeRunsOptions).resume(ada, 'r1')).toEqual({ id: 'r1' });
  expect(resumed).toEqual(['r1', 'r2', 'r4', 'r3']);
});
