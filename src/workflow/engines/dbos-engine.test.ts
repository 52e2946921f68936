import { DBOS } from '@dbos-inc/dbos-sdk';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { until } from '../../../test/until.ts';
import { type FreshDatabase, freshPostgres, testPostgres } from '../../store/fixtures.ts';
import { openStore } from '../../store/open-store.ts';
import type { RunJournal, StoredRun } from '../../store/run-journal.ts';
import type { Store } from '../../store/store.ts';
import type { Advanced, AdvanceRun, RunEngine } from '../run/engine.ts';
import { openDbosEngine } from './dbos-engine.ts';

const runOf = (id: string, change: Partial<StoredRun> = {}): StoredRun => ({
  ...{ id, workflow: 'demo', digest: 'd', interpreter: 1, status: 'running', depth: 0, startedAt: 0 },
  ...{ caller: { id: 'ada', roles: ['owner'], via: 'library' }, input: 'i', signalSeen: 0, ...change },
});

/** The parts of the journal that the engine reads. */
function journalOf(runs: Map<string, StoredRun>) {
  const watchers = new Set<() => void>();
  const signals = new Map<string, number>();
  const journal: Pick<RunJournal, 'get' | 'unleased' | 'signals' | 'watch'> = {
    get: async (id) => runs.get(id),
    unleased: async () => [...runs.values()].filter(({ status }) => status === 'running'),
    signals: async (run, after) => {
      const id = signals.get(run) ?? 0;
      return id > after ? [{ id, at: 0, kind: 'resume', by: 'ada', detail: {} }] : [];
    },
    watch(onChange) {
      watchers.add(onChange);
      return () => watchers.delete(onChange);
    },
  };
  const signal = (run: string) => {
    signals.set(run, (signals.get(run) ?? 0) + 1);
    for (const watcher of watchers) watcher();
  };
  return { journal: journal as RunJournal, signal, watchers };
}

describe.skipIf(!testPostgres)('the DBOS engine', () => {
  let database: FreshDatabase;
  let store: Store;
  const engines: RunEngine[] = [];
  const runs = new Map<string, StoredRun>();
  const advanced: string[] = [];
  const script = new Map<string, (Advanced | 'fail')[]>();
  const advance: AdvanceRun = async ({ run }) => {
    advanced.push(run.id);
    const end = script.get(run.id)?.shift() ?? { kind: 'ended' };
    if (end === 'fail') throw new Error('The store does not answer.');
    return end;
  };

  // One database for all tests: DBOS creates its tables in about 1 s.
  beforeAll(async () => {
    database = await freshPostgres();
    store = await openStore({ location: database.location, ...database.keys });
  });
  beforeEach(() => {
    for (const kept of [runs, advanced, script]) 'clear' in kept ? kept.clear() : kept.splice(0);
  });
  afterEach(async () => {
    for (const engine of engines.splice(0)) await engine.close();
  });
  afterAll(async () => {
    await store.close();
    await database.remove();
  });

  const open = async (change: { pickUp?: boolean; location?: string; watched?: ReturnType<typeof journalOf> } = {}) => {
    const { pickUp = true, location = database.location, watched = journalOf(runs) } = change;
    const engine = await openDbosEngine({
      ...{ location, pickUp, advance, leases: store.leases },
      journal: watched.journal,
    });
    engines.push(engine);
    return engine;
  };
  const times = (run: string) => advanced.filter((id) => id === run).length;
  const add = (id: string, change: Partial<StoredRun> = {}, ...ends: (Advanced | 'fail')[]) => {
    runs.set(id, runOf(id, change));
    script.set(id, ends);
  };

  verifies('W7', 'advances a run until it has ended: at a time, and by a wake-up message', async () => {
    const engine = await open();
    add('timed', {}, { kind: 'suspended', wakeAt: 1 }, { kind: 'ended' });
    add('woken', {}, { kind: 'suspended' }, { kind: 'ended' });
    await engine.start('timed');
    await engine.start('woken');
    await until('the timer has fired', () => times('timed') === 2);
    await until('the run waits', () => times('woken') === 1);
    await Promise.all([engine.wake('woken'), engine.wake('woken'), engine.wake('woken')]);
    await until('the run is advanced again', () => times('woken') === 2);
    const done = async () =>
      (await database.run("SELECT 1 FROM heddle_dbos.workflow_status WHERE status = 'SUCCESS'")).length;
    await until('DBOS has recorded both ends', async () => (await done()) === 2);
    expect([times('timed'), times('woken')]).toEqual([2, 2]);
  });

  verifies('W7', 'wakes a run that got a signal from a process without the engine', async () => {
    const watched = journalOf(runs);
    const engine = await open({ watched });
    add('signalled', {}, { kind: 'suspended' });
    await engine.start('signalled');
    await until('the run waits', () => times('signalled') === 1);
    await until('the run is woken', () => {
      watched.signal('signalled');
      return times('signalled') === 2;
    });
  });

  verifies('W7', 'wakes a run after the store has refused its wake-up message once', async () => {
    const watched = journalOf(runs);
    const engine = await open({ watched });
    add('refused', {}, { kind: 'suspended' });
    await engine.start('refused');
    await until('the run waits', () => times('refused') === 1);
    const send = vi.spyOn(DBOS, 'send').mockRejectedValueOnce(new Error('The server restarts.'));
    onTestFinished(() => send.mockRestore());
    watched.signal('refused');
    await until('the run is woken', () => times('refused') === 2);
    expect(send.mock.calls.length).toBeGreaterThan(1);
  });

  verifies('W7', 'advances a run again when it was lost or the store failed', async () => {
    const engine = await open();
    add('lost', {}, { kind: 'lost' });
    add('broken', {}, 'fail');
    await engine.start('lost');
    await engine.start('broken');
    await until('both were advanced again', () => times('lost') === 2 && times('broken') === 2);
  });

  verifies('W7', 'gives a detached run to a process with runs, not to another', async () => {
    const own = await open({ pickUp: false });
    add('detached', { detached: true });
    add('attached');
    await own.start('detached');
    await own.start('attached');
    await until('the attached run has ended', () => times('attached') === 1);
    expect(times('detached')).toBe(0);
    await own.close();
    engines.splice(0);
    await open();
    await until('the detached run has ended', () => times('detached') === 1);
  });

  verifies('W7', 'hands its waiting runs over when it closes, and leaves no watcher', async () => {
    const watched = journalOf(runs);
    const first = await open({ watched });
    add('handed-over', {}, { kind: 'suspended' });
    await first.start('handed-over');
    await until('the run waits', () => times('handed-over') === 1);
    await first.close();
    engines.splice(0);
    expect(watched.watchers.size).toBe(0);
    watched.signal('handed-over');
    await open({ watched });
    await until('another engine has ended it', () => times('handed-over') === 2);
  });

  verifies('W7', 'starts a run whose process died before DBOS knew it', async () => {
    add('stored');
    await open();
    await until('the run has ended', () => times('stored') === 1);
  });

  it('refuses a second database in one process', async () => {
    await open();
    const other = await freshPostgres();
    await expect(open({ location: other.location })).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    await other.remove();
  });

  it('refuses to resume a run of a living process', async () => {
    const engine = await open();
    add('owned', {}, { kind: 'suspended' });
    await engine.start('owned');
    await until('the run waits', () => times('owned') === 1);
    await expect(engine.resume('owned')).rejects.toMatchObject({ code: 'RUN_OWNED' });
  });
});
