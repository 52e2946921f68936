import { expect } from 'vitest';
import { memoryStore } from '../../../test/memory-store.ts';
import { verifies } from '../../../test/requirements.ts';
import { claimOptions, DEFINITION, entryOf, INPUT, runOf, writeOf } from '../../store/runs/fixtures.ts';
import { untilRun, watchRuns } from './run-watch.ts';

verifies('W6', 'a wait for a run reads it when its status changes, not with each entry of its history', async () => {
  const store = await memoryStore(() => 5_000);
  await store.runs.create(runOf('one'), [DEFINITION, INPUT], [entryOf(1)]);
  const [claimed] = (await store.runQueue?.claim(claimOptions())) ?? [];
  if (!claimed) throw new Error('The run cannot be claimed.');
  // Without the changes of other processes, which are looked for at times.
  const watch = watchRuns({ ...store.runs, watch: () => () => {} });
  const kinds: string[] = [];
  const end = watch.on('one', (kind) => kinds.push(kind));
  let checks = 0;
  const ended = untilRun({
    watch,
    run: 'one',
    async check() {
      checks++;
      const run = await store.runs.get('one');
      return run?.status === 'succeeded' ? run : undefined;
    },
    signal: new AbortController().signal,
  });
  for (const sequence of [2, 3, 4]) await watch.journal.append(writeOf(claimed, [sequence]), 'now');
  expect([checks, kinds]).toEqual([1, ['history', 'history', 'history']]);
  const change = { status: 'succeeded', endedAt: 9_000 } as const;
  await watch.journal.append(writeOf(claimed, [5], { change }), 'now');
  expect(await ended).toMatchObject({ id: 'one', endedAt: 9_000 });
  end();
});

verifies('W6', 'reports the change of one run to those who wait for it, and an unknown change to all', async () => {
  const store = await memoryStore(() => 5_000);
  let onChange: (run?: string) => void = () => {};
  const watch = watchRuns({
    ...store.runs,
    watch(listener) {
      onChange = listener;
      return () => {};
    },
  });
  const reported: string[] = [];
  for (const run of ['one', 'two']) watch.on(run, () => reported.push(run));
  onChange('two');
  expect(reported).toEqual(['two']);
  onChange();
  expect(reported).toEqual(['two', 'one', 'two']);
});
