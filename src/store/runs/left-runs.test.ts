import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { onEveryDialect } from '../fixtures.ts';
import { openStore } from '../open-store.ts';
import { runLease } from '../run-journal.ts';
import { DEFINITION, INPUT, runOf, writeOf } from './fixtures.ts';

const FIRST = [DEFINITION, INPUT];

onEveryDialect((bench) => {
  const open = () => openStore({ location: bench.database.location, ...bench.database.keys, clock: () => 9_000 });

  verifies(
    'W5',
    'finds the runs that calls have left by caller and call, the oldest first, also after a restart',
    async () => {
      const { runs } = bench.store;
      const [older, newer] = [runOf('run_b'), runOf('run_a', { startedAt: 2_000 })];
      for (const run of [newer, older, runOf('run_kept')]) await runs.create(run, FIRST, []);
      await Promise.all(['run_a', 'run_b'].map((id) => runs.leave(id, 'call-digest')));
      expect([await runs.leftBy('key:other', 'call-digest'), await runs.leftBy('key:ci', 'other')]).toEqual([[], []]);
      const ended = await bench.store.leases.acquire(runLease('run_b'), 60_000);
      const claimed = { run: older, lease: ended ?? expect.fail('no lease') };
      await runs.append(writeOf(claimed, [], { change: { status: 'succeeded', endedAt: 8_000 } }), 'now');
      await bench.store.close();
      bench.store = await open();
      const found = await bench.store.runs.leftBy('key:ci', 'call-digest');
      expect(found).toEqual([
        { ...older, status: 'succeeded', endedAt: 8_000, left: 'call-digest' },
        { ...newer, left: 'call-digest' },
      ]);
      await bench.store.runs.leave('run_b', undefined);
      expect((await bench.store.runs.leftBy('key:ci', 'call-digest')).map(({ id }) => id)).toEqual(['run_a']);
      expect(await bench.store.runs.get('run_b')).not.toHaveProperty('left');
    },
  );
});
