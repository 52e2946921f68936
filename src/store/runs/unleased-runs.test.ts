import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { onEveryDialect } from '../fixtures.ts';
import { type RunChange, runLease } from '../run-journal.ts';
import { DEFINITION, INPUT, runOf, writeOf } from './fixtures.ts';

onEveryDialect((bench) => {
  /** Creates a run that a process has claimed and, with a change, released. */
  async function create(id: string, change?: RunChange): Promise<void> {
    const { runs, leases } = bench.store;
    const run = runOf(id);
    await runs.create(run, [DEFINITION, INPUT], []);
    const lease = await leases.acquire(runLease(id), 60_000);
    if (!lease) throw new Error('The lease is held.');
    if (!change) return;
    await runs.append(writeOf({ run, lease }, [], { change }), 'now');
    await leases.release(lease);
  }

  verifies('W6', 'finds the open runs that are due and that no process executes', async () => {
    const { runs } = bench.store;
    await create('run_owned');
    await create('run_left', { status: 'running' });
    await create('run_waits', { status: 'waiting', wakeAt: 9_001 });
    await create('run_due', { status: 'waiting', wakeAt: 9_000 });
    await create('run_signalled', { status: 'in_doubt' });
    await create('run_doubted', { status: 'in_doubt' });
    await create('run_ended', { status: 'failed', endedAt: 8_000 });
    await runs.signal('run_signalled', { kind: 'resume', by: 'user:ada', detail: {} });
    expect((await runs.unleased(9_000, 10)).map(({ id }) => id).toSorted()).toEqual([
      'run_due',
      'run_left',
      'run_signalled',
    ]);
    expect(await runs.unleased(9_000, 1)).toHaveLength(1);
  });
});
