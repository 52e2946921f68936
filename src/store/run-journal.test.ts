import { expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { until } from '../../test/until.ts';
import { onEveryDialect, recordOf } from './fixtures.ts';
import { openStore } from './open-store.ts';
import { runLease, type StoredRun } from './run-journal.ts';
import { DEFINITION, entryOf, INPUT, journalValue, runOf, writeOf } from './runs/fixtures.ts';
import type { Store } from './store.ts';

const signal = new AbortController().signal;
const FIRST = [DEFINITION, INPUT];

/** Creates a run and takes its lease, as an engine does. */
async function owned(store: Store, id: string, change: Partial<StoredRun> = {}) {
  const run = runOf(id, change);
  expect(await store.runs.create(run, FIRST, [])).toBe(true);
  const lease = await store.leases.acquire(runLease(id), 60_000);
  if (!lease) throw new Error('The lease is held.');
  return { run, lease };
}

/** Lets another process take the lease over. */
async function lose(store: Store, claimed: Awaited<ReturnType<typeof owned>>) {
  await store.leases.release(claimed.lease);
  const lease = await store.leases.acquire(claimed.lease.name, 60_000);
  if (!lease) throw new Error('The lease is held.');
  return { run: claimed.run, lease };
}

onEveryDialect((bench) => {
  const open = () => openStore({ location: bench.database.location, ...bench.database.keys, clock: () => 9_000 });

  verifies('W5', 'keeps a run, its entries in order and its values over a restart', async () => {
    const run = runOf('run_one', {
      callId: 'call-1',
      parent: { run: 'run_parent', path: 'a/[1]/b' },
      depth: 1,
      retryOf: { run: 'run_old', from: 'b' },
      origin: { folder: '/shop', file: '/shop/ci.json', program: true },
      timeoutAt: 5_000,
      detached: true,
    });
    expect(await bench.store.runs.create(run, FIRST, [entryOf(1)])).toBe(true);
    const lease = await bench.store.leases.acquire(runLease('run_one'), 60_000);
    const claimed = { run, lease: lease ?? expect.fail('no lease') };
    const odd = entryOf(2, {
      kind: 'log',
      path: 'a \u0000 \ud800',
      detail: { text: 'nul \u0000 half \ud800', list: [1, null] },
    });
    await bench.store.runs.append(writeOf(claimed, [], { entries: [odd, entryOf(3)] }), 'now');
    await bench.store.close();
    bench.store = await open();
    const { runs } = bench.store;
    expect(await runs.get('run_one')).toEqual(run);
    expect(await runs.get('run_two')).toBeUndefined();
    expect(await runs.entries('run_one')).toEqual([entryOf(1), { ...odd, path: 'a \ufffd \ufffd' }, entryOf(3)]);
    expect(await runs.entries('run_one', 2)).toEqual([entryOf(3)]);
    expect(await runs.entries('run_one', 0, ['log', 'ended'])).toEqual([{ ...odd, path: 'a \ufffd \ufffd' }]);
    expect(await runs.value(INPUT.sha256)).toEqual({ query: 'x' });
    expect(await runs.value('0'.repeat(64))).toBeUndefined();
  });

  verifies('W5', 'creates one run per id, and per caller and call', async () => {
    const { runs } = bench.store;
    const other = await open();
    const run = runOf('run_one', { callId: 'call-1' });
    const results = await Promise.all([runs.create(run, FIRST, []), other.runs.create(run, FIRST, [entryOf(1)])]);
    expect(results.toSorted()).toEqual([false, true]);
    expect(await runs.create(runOf('run_two', { callId: 'call-1' }), FIRST, [entryOf(1)])).toBe(false);
    expect([await runs.get('run_two'), await runs.entries('run_two')]).toEqual([undefined, []]);
    expect(await runs.create(runOf('run_two', { callId: 'call-2' }), FIRST, [])).toBe(true);
    expect(await runs.ofCall('key:ci', 'call-1')).toMatchObject({ id: 'run_one' });
    expect(await runs.ofCall('key:other', 'call-1')).toBeUndefined();
    await other.close();
  });

  it('finds runs by the beginning of their id, and an exact id alone', async () => {
    const { runs } = bench.store;
    for (const id of ['run_a', 'run_ab', 'run_B', 'other']) await runs.create(runOf(id), FIRST, []);
    const found = async (prefix: string) => (await runs.find(prefix)).map(({ id }) => id);
    expect(await found('run_')).toEqual(['run_B', 'run_a', 'run_ab']);
    expect(await found('run_a')).toEqual(['run_a']);
    expect([await found(''), await found('%'), await found("x' OR 1=1")]).toEqual([[], [], []]);
  });

  it('lists the newest first, by status, workflow, caller and parent', async () => {
    const { runs } = bench.store;
    const caller = { id: 'key:other', roles: [], via: 'cli' };
    const parent = { run: 'run_a', path: 'sub' };
    await runs.create(runOf('run_a'), FIRST, []);
    await runs.create(runOf('run_b', { startedAt: 3_000, workflow: 'other', parent }), FIRST, []);
    await runs.create(runOf('run_c', { startedAt: 2_000, caller, status: 'in_doubt' }), FIRST, []);
    await runs.create(runOf('run_d', { startedAt: 500, status: 'failed', endedAt: 600 }), FIRST, []);
    const listed = async (filter: Parameters<typeof runs.list>[0]) => (await runs.list(filter)).map(({ id }) => id);
    expect(await listed({})).toEqual(['run_b', 'run_c', 'run_a', 'run_d']);
    expect(await listed({ status: 'all', limit: 2 })).toEqual(['run_b', 'run_c']);
    expect(await listed({ status: 'open' })).toEqual(['run_b', 'run_c', 'run_a']);
    expect(await listed({ status: 'in_doubt' })).toEqual(['run_c']);
    expect(await listed({ status: 'failed' })).toEqual(['run_d']);
    expect(await listed({ workflow: 'other' })).toEqual(['run_b']);
    expect(await listed({ caller: 'key:other' })).toEqual(['run_c']);
    expect(await listed({ parent: 'run_a' })).toEqual(['run_b']);
  });

  verifies('W5', 'commits entries, values and the change of the run together', async () => {
    const claimed = await owned(bench.store, 'run_one');
    const { runs } = bench.store;
    const output = journalValue('y'.repeat(70_000));
    await runs.append(writeOf(claimed, [1], { change: { status: 'waiting', wakeAt: 99_000, signalSeen: 0 } }), 'soon');
    expect(await runs.get('run_one')).toMatchObject({ status: 'waiting', wakeAt: 99_000 });
    const error = { code: 'RUN_FAILED', message: 'It failed.' };
    const change = { status: 'failed', endedAt: 8_000, output: output.sha256, error } as const;
    await runs.append(writeOf(claimed, [2], { values: [output], change }), 'now');
    expect(await runs.get('run_one')).toEqual(runOf('run_one', change));
    expect(await runs.value(output.sha256)).toBe('y'.repeat(70_000));
  });

  verifies('W5', 'stores a large value once, whichever runs use it, and keeps exact numbers', async () => {
    const value = { sha256: 'ab'.repeat(32), json: '{"n":12345678901234567890}' };
    for (const id of ['run_a', 'run_b'])
      await bench.store.runs.append(writeOf(await owned(bench.store, id), [1], { values: [value] }), 'now');
    const rows = await bench.database.run(`SELECT sha256 FROM run_values WHERE sha256 = '${value.sha256}'`);
    expect(rows.length).toBe(1);
    expect(JSON.stringify(await bench.store.runs.value(value.sha256))).toBe(value.json);
  });

  verifies('W5', 'refuses a write with a stale fencing number, and stores nothing of it', async () => {
    const first = await owned(bench.store, 'run_one');
    const { runs } = bench.store;
    await runs.append(writeOf(first, [1]), 'now');
    const second = await lose(bench.store, first);
    const value = journalValue('z'.repeat(70_000));
    const write = writeOf(first, [2], { values: [value], change: { status: 'failed', endedAt: 1 } });
    for (const urgency of ['now', 'soon'] as const)
      await expect(runs.append(write, urgency)).rejects.toMatchObject({ code: 'RUN_LEASE_LOST' });
    expect(await runs.entries('run_one')).toEqual([entryOf(1)]);
    expect([await runs.get('run_one'), await runs.value(value.sha256)]).toEqual([runOf('run_one'), undefined]);
    await runs.append(writeOf(second, [2]), 'now');
    expect(await runs.entries('run_one')).toEqual([entryOf(1), entryOf(2)]);
  });

  verifies('W5', 'refuses the intent of a call whose run was taken over, in the middle of a batch', async () => {
    const { audit, runs } = bench.store;
    const [stale, current] = [await owned(bench.store, 'run_stale'), await owned(bench.store, 'run_current')];
    await lose(bench.store, stale);
    const fenceOf = ({ run, lease }: typeof stale) => ({ run: run.id, epoch: lease.epoch });
    await audit.appendDurably(recordOf({ name: 'before' }));
    const results = await Promise.allSettled([
      audit.appendDurably(recordOf({ name: 'one' })),
      runs.append(writeOf(stale, [1]), 'soon'),
      audit.appendDurably(recordOf({ name: 'refused' }), fenceOf(stale)),
      runs.append(writeOf(current, [1]), 'soon'),
      audit.appendDurably(recordOf({ name: 'two' }), fenceOf(current)),
      runs.append(writeOf(stale, [2]), 'now'),
    ]);
    const lost = { code: 'RUN_LEASE_LOST', message: 'Another process has taken over the run run_stale.' };
    expect(results.map((result) => (result.status === 'rejected' ? result.reason : 'written'))).toEqual([
      'written',
      expect.objectContaining(lost),
      expect.objectContaining(lost),
      'written',
      'written',
      expect.objectContaining(lost),
    ]);
    const names = (await audit.search({ limit: 10 })).map(({ name }) => name);
    expect(names).toEqual(['two', 'one', 'before']);
    expect([await runs.entries('run_stale'), await runs.entries('run_current')]).toEqual([[], [entryOf(1)]]);
    const verified = await audit.verify({ signal });
    expect([verified.faults, verified.records]).toEqual([[], 3]);
  });

  verifies('W5', 'refuses an entry whose number has another content, and accepts the same entry again', async () => {
    const claimed = await owned(bench.store, 'run_one');
    const other = await owned(bench.store, 'run_two');
    const { runs } = bench.store;
    await runs.append(writeOf(claimed, [1]), 'now');
    await runs.append(writeOf(claimed, [1, 2]), 'now');
    const changed = writeOf(claimed, [], { entries: [entryOf(2, { kind: 'finished' })] });
    const [refused, written] = await Promise.allSettled([
      runs.append(changed, 'soon'),
      runs.append(writeOf(other, [1]), 'now'),
    ]);
    expect([refused.status, written.status]).toEqual(['rejected', 'fulfilled']);
    expect(await runs.entries('run_one')).toEqual([entryOf(1), entryOf(2)]);
    await expect(
      runs.append(writeOf(claimed, [], { entries: [entryOf(3, { at: Number.NaN })] }), 'now'),
    ).rejects.toThrow('has no sequence or no time');
    const endless = writeOf(claimed, [3], { change: { status: 'failed' } });
    await expect(runs.append(endless, 'now')).rejects.toThrow('has no time');
  });

  verifies('W5', 'commits the start of a step no later than the intent of its call', async () => {
    const claimed = await owned(bench.store, 'run_one');
    const { runs, audit } = bench.store;
    const started = runs.append(writeOf(claimed, [1]), 'soon');
    let isStarted = false;
    void started.then(() => {
      isStarted = true;
    });
    await audit.appendDurably(recordOf(), { run: 'run_one', epoch: claimed.lease.epoch });
    expect(isStarted).toBe(true);
  });

  verifies('W5', 'numbers signals within a run, and refuses them once it has ended', async () => {
    const { runs } = bench.store;
    const claimed = await owned(bench.store, 'run_one');
    await owned(bench.store, 'run_two');
    const other = await open();
    const cancel = { kind: 'cancel', by: 'user:ada', detail: { reason: 'x' } };
    const sent = await Promise.all([
      runs.signal('run_one', cancel),
      other.runs.signal('run_one', { ...cancel, kind: 'resume' }),
      runs.signal('run_two', cancel),
      runs.signal('run_three', cancel),
    ]);
    expect(sent).toEqual([true, true, true, false]);
    const signals = await runs.signals('run_one', 0);
    expect(signals.map(({ id }) => id)).toEqual([1, 2]);
    expect(signals).toContainEqual({ id: expect.any(Number), at: 9_000, ...cancel });
    expect((await runs.signals('run_one', 1)).map(({ id }) => id)).toEqual([2]);
    await runs.append(writeOf(claimed, [], { change: { status: 'cancelled', endedAt: 9_000, signalSeen: 2 } }), 'now');
    expect(await runs.signal('run_one', cancel)).toBe(false);
    expect((await runs.signals('run_one', 0)).length).toBe(2);
    await other.close();
  });

  verifies('W5', 'reports signals and ends of other processes to watchers, and stops with the last one', async () => {
    const { runs } = bench.store;
    const claimed = await owned(bench.store, 'run_one');
    const other = await open();
    let reports = 0;
    const stop = other.runs.watch(() => {
      reports++;
    });
    await until('the first report', () => reports === 1);
    await runs.signal('run_one', { kind: 'resume', by: 'user:ada', detail: {} });
    await until('the signal', () => reports === 2);
    await runs.append(writeOf(claimed, [1]), 'now');
    await runs.append(writeOf(claimed, [], { change: { status: 'succeeded', endedAt: 9_000 } }), 'now');
    await until('the end', () => reports === 3);
    stop();
    await other.close();
  });

  verifies('W5', 'prunes runs that ended, and keeps open ones and the values that others use', async () => {
    const { runs } = bench.store;
    const [own, shared, named] = ['own', 'shared', 'named'].map((text) => journalValue(text.repeat(20_000)));
    if (!own || !shared || !named) throw new Error('no values');
    const [old, late, still] = [
      await owned(bench.store, 'run_old'),
      await owned(bench.store, 'run_late'),
      await owned(bench.store, 'run_open'),
    ];
    const ended = (endedAt: number) => ({ status: 'succeeded', endedAt }) as const;
    await runs.append(writeOf(old, [1], { values: [own, shared, named], change: ended(5_000) }), 'now');
    await runs.append(writeOf(late, [1], { values: [shared], change: ended(6_000) }), 'now');
    const naming = entryOf(1, { detail: { value: { sha256: named.sha256, bytes: 1 } } });
    await runs.append(writeOf(still, [], { entries: [naming] }), 'now');
    await runs.signal('run_open', { kind: 'resume', by: 'user:ada', detail: {} });
    expect(await runs.prune(5_500)).toBe(1);
    expect([await runs.get('run_old'), await runs.entries('run_old')]).toEqual([undefined, []]);
    const left = await Promise.all(
      [own, shared, named, DEFINITION].map(async ({ sha256 }) => (await runs.value(sha256)) !== undefined),
    );
    expect(left).toEqual([false, true, true, true]);
    expect(await runs.prune(99_000)).toBe(1);
    expect((await runs.list({})).map(({ id }) => id)).toEqual(['run_open']);
    expect(await runs.value(shared.sha256)).toBeUndefined();
    expect((await runs.signals('run_open', 0)).length).toBe(1);
    const leases = await bench.database.run('SELECT name FROM leases');
    expect(leases).toEqual([{ name: 'run:run_open' }]);
  });

  it('prunes a run of many entries in several transactions', async () => {
    const claimed = await owned(bench.store, 'run_one');
    const many = Array.from({ length: 4_100 }, (_, at) => at + 1);
    await bench.store.runs.append(writeOf(claimed, many, { change: { status: 'failed', endedAt: 5_000 } }), 'now');
    expect((await bench.store.runs.entries('run_one', 4_000)).length).toBe(100);
    expect(await bench.store.runs.prune(6_000)).toBe(1);
    expect(await bench.database.run('SELECT count(*) AS count FROM run_entries WHERE sequence < 5000')).toEqual([
      { count: bench.database.location.startsWith('postgres') ? '0' : 0 },
    ]);
  });

  it('keeps the lease of a run however long it is over', async () => {
    const { lease } = await owned(bench.store, 'run_one');
    await bench.database.run(`UPDATE leases SET expires_at = expires_at - 3600000`);
    await bench.store.leases.acquire('another', 60_000);
    const left = await bench.database.run('SELECT name FROM leases ORDER BY name');
    expect(left).toEqual([{ name: 'another' }, { name: lease.name }]);
  });
});
