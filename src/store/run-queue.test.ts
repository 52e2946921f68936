import { afterEach, beforeEach, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { type FreshDatabase, freshSqlite } from './fixtures.ts';
import { openStore } from './open-store.ts';
import type { StoredRun } from './run-journal.ts';
import type { RunOwner } from './run-queue.ts';
import { claimOptions, DEFINITION, entryOf, INPUT, OWNER, runOf, writeOf } from './runs/fixtures.ts';
import type { Store } from './store.ts';

const OTHER: RunOwner = { id: 'two', pid: 102, startedAt: '2' };

let database: FreshDatabase;
let store: Store;
let other: Store;
beforeEach(async () => {
  database = await freshSqlite();
  const open = () => openStore({ location: database.location, ...database.keys, clock: () => 9_000 });
  store = await open();
  other = await open();
});
afterEach(async () => {
  await Promise.all([store.close(), other.close()]);
  await database.remove();
});

const queueOf = ({ runQueue }: Store) => runQueue ?? expect.fail('no queue');
const create = (id: string, change: Partial<StoredRun> = {}) =>
  store.runs.create(runOf(id, change), [DEFINITION, INPUT], []);
const claim = (change: Parameters<typeof claimOptions>[0] = {}, from = store) =>
  queueOf(from).claim(claimOptions(change));
const ids = (claimed: Awaited<ReturnType<typeof claim>>) => claimed.map(({ run }) => run.id);

verifies('W5', 'claims a new run once, the oldest first', async () => {
  await create('run_b', { startedAt: 2_000 });
  await create('run_a', { startedAt: 3_000 });
  await create('run_c');
  expect(ids(await claim({ limit: 2 }))).toEqual(['run_c', 'run_b']);
  const [rest] = await claim();
  expect(rest).toEqual({
    run: runOf('run_a', { startedAt: 3_000 }),
    lease: { name: 'run:run_a', holder: expect.any(String), epoch: expect.any(Number), expiresAt: 69_000 },
  });
  expect(await claim()).toEqual([]);
});

verifies('W5', 'lets one of two processes claim a run', async () => {
  const names = Array.from({ length: 40 }, (_, at) => `run_${at}`);
  for (const name of names) await create(name);
  const parts = await Promise.all(
    [store, other, store, other].map((from) => claim({ limit: 40, owner: from === store ? OWNER : OTHER }, from)),
  );
  expect(parts.flatMap(ids).toSorted()).toEqual(names.toSorted());
  expect(new Set(parts.flat().map(({ lease }) => lease.epoch)).size).toBe(40);
});

verifies('W5', 'lets one of two processes take a run over, or claim it by name', async () => {
  await create('run_dead');
  await create('run_named', { status: 'waiting' });
  await claim({ owner: { id: 'dead', pid: 103, startedAt: '3' }, only: ['run_dead'] });
  for (const name of ['run_dead', 'run_named']) {
    const isAlive = ({ id }: RunOwner) => id !== 'dead';
    const parts = await Promise.all([
      claim({ only: [name], isAlive }),
      claim({ only: [name], isAlive, owner: OTHER }, other),
    ]);
    expect(parts.flatMap(ids)).toEqual([name]);
  }
});

verifies('W5', 'takes a run over from a dead owner at once, whose writes are then refused', async () => {
  await create('run_one');
  const [first] = await claim();
  if (!first) throw new Error('not claimed');
  await store.runs.append(writeOf(first, [1]), 'now');
  expect(await claim({ owner: OTHER }, other)).toEqual([]);
  const isAlive = (owner: RunOwner) => owner.pid !== OWNER.pid;
  const [second] = await claim({ owner: OTHER, isAlive }, other);
  expect(second?.lease.epoch).toBeGreaterThan(first.lease.epoch);
  expect(await queueOf(store).heartbeat([first])).toEqual(['run_one']);
  await expect(store.runs.append(writeOf(first, [2]), 'now')).rejects.toMatchObject({ code: 'RUN_LEASE_LOST' });
  await queueOf(store).release(first);
  if (second) await other.runs.append(writeOf(second, [2]), 'now');
  expect(await store.runs.entries('run_one')).toEqual([entryOf(1), entryOf(2)]);
  expect(await claim({ owner: OWNER, only: ['run_one'] })).toEqual([]);
});

verifies('W5', 'takes over from each of several dead owners, and from no other', async () => {
  for (const id of ['a', 'b', 'c', 'd']) {
    await create(`run_${id}`);
    await claim({ owner: { id, pid: 103, startedAt: id }, only: [`run_${id}`] });
  }
  const isAlive = ({ id }: RunOwner) => id === 'b';
  expect(ids(await claim({ isAlive })).toSorted()).toEqual(['run_a', 'run_c', 'run_d']);
});

verifies('W5', 'never takes a run from a live owner, even after its lease is over', async () => {
  await create('run_one');
  const [first] = await claim();
  if (!first) throw new Error('not claimed');
  await database.run('UPDATE leases SET expires_at = 0');
  expect(await claim({ owner: OTHER, now: 10 ** 9 }, other)).toEqual([]);
  expect(await claim({ owner: OTHER, only: ['run_one'] }, other)).toEqual([]);
  await store.runs.append(writeOf(first, [1]), 'now');
  expect(await queueOf(store).heartbeat([first])).toEqual([]);
  expect(await database.run('SELECT expires_at FROM leases')).toEqual([{ expires_at: 69_000 }]);
});

verifies('W5', 'a released run is due at its time, by a signal, or by name', async () => {
  const queue = queueOf(store);
  await create('run_one');
  const waiting = { status: 'waiting', wakeAt: 20_000 } as const;
  for (const [wakeAt, now] of [
    [20_000, 20_000],
    [undefined, 9_000],
  ] as const) {
    const [claimed] = await claim({ now: 9_000 });
    if (!claimed) throw new Error('not claimed');
    await store.runs.append(writeOf(claimed, [], { change: waiting }), 'now');
    await queue.release(claimed, wakeAt);
    expect(await queue.nextDue()).toBe(wakeAt);
    expect((await store.runs.get('run_one'))?.wakeAt).toBe(wakeAt);
    expect(await claim({ now: now - 1 })).toEqual([]);
    if (wakeAt === undefined) await other.runs.signal('run_one', { kind: 'resume', by: 'user:ada', detail: {} });
    const [again] = await claim({ now });
    expect(again?.run.id).toBe('run_one');
    const seen = { ...waiting, signalSeen: wakeAt === undefined ? 1 : 0 };
    if (again) await store.runs.append(writeOf(again, [], { change: seen }), 'now');
    if (again) await queue.release(again);
    expect([await queue.nextDue(), await claim({ now: 10 ** 9 })]).toEqual([undefined, []]);
    const [named] = await claim({ only: ['run_one'] });
    if (named) await store.runs.append(writeOf(named, [], { change: { status: 'running' } }), 'now');
    if (named) await queue.release(named);
  }
});

verifies('W5', 'a signal that the owner has not seen makes the run due when it is released', async () => {
  await create('run_one');
  const [claimed] = await claim();
  if (!claimed) throw new Error('not claimed');
  await other.runs.signal('run_one', { kind: 'cancel', by: 'user:ada', detail: {} });
  expect(await claim({ owner: OTHER }, other)).toEqual([]);
  await store.runs.append(writeOf(claimed, [], { change: { status: 'waiting', wakeAt: 99_000 } }), 'now');
  await queueOf(store).release(claimed, 99_000);
  expect(ids(await claim({ owner: OTHER }, other))).toEqual(['run_one']);
});

verifies('W5', 'a run that is released while it runs is due at once, or at the given time', async () => {
  await create('run_one');
  const queue = queueOf(store);
  const [first] = await claim();
  if (first) await queue.release(first);
  expect(await queue.nextDue()).toBe(0);
  const [second] = await claim({ owner: OTHER }, other);
  if (second) await queue.release(second, 14_000);
  expect([await queue.nextDue(), await claim({ now: 13_999 })]).toEqual([14_000, []]);
  expect(ids(await claim({ now: 14_000 }))).toEqual(['run_one']);
});

it('claims no run that has ended, and none of a newer interpreter', async () => {
  await create('run_ended');
  await create('run_new', { interpreter: 2 });
  expect(ids(await claim({ interpreter: 1 }))).toEqual(['run_ended']);
  const [claimed] = await claim({ owner: OTHER, interpreter: 1, isAlive: () => false }, other);
  if (!claimed) throw new Error('not claimed');
  await store.runs.signal('run_ended', { kind: 'cancel', by: 'user:ada', detail: {} });
  await other.runs.append(writeOf(claimed, [], { change: { status: 'failed', endedAt: 9_000 } }), 'now');
  expect(await claim({ only: ['run_ended'], isAlive: () => false })).toEqual([]);
  await queueOf(other).release(claimed, 1);
  expect(ids(await claim({ isAlive: () => false }))).toEqual(['run_new']);
  expect(await queueOf(store).nextDue()).toBeUndefined();
});

verifies('W5', 'claims the runs of its own origin and those without one, and none of another', async () => {
  const [shop, other] = [{ folder: '/shop' }, { folder: '/clone' }];
  await create('run_shop', { origin: shop });
  await create('run_none', { startedAt: 2_000 });
  expect((await store.runs.get('run_shop'))?.origin).toEqual(shop);
  const queue = queueOf(store);
  expect(await queue.unowned({ now: 9_000, limit: 10, isAlive: () => true })).toEqual(['run_shop', 'run_none']);
  for (const origin of [other, { ...shop, file: '/shop/ci.json' }, { ...shop, program: true as const }]) {
    expect(await claim({ origin, only: ['run_shop'] })).toEqual([]);
  }
  const [none] = await claim({ origin: other });
  expect(none?.run.id).toBe('run_none');
  if (none) await queue.release(none, 14_000);
  expect([await queue.nextDue(other), await queue.nextDue(shop)]).toEqual([14_000, 0]);
  await store.runs.moveTo('run_shop', other);
  expect(await claim({ origin: shop })).toEqual([]);
  await store.runs.moveTo('run_shop', shop);
  expect(ids(await claim({ origin: shop }))).toEqual(['run_shop']);
});

verifies('W5', 'takes no run of another origin over from a dead owner', async () => {
  const shop = { folder: '/shop', file: '/shop/ci.json' };
  await create('run_shop', { origin: shop });
  await claim({ origin: shop, owner: OTHER });
  const isAlive = () => false;
  expect(await claim({ origin: { folder: '/shop' }, isAlive })).toEqual([]);
  expect(ids(await claim({ origin: shop, isAlive }))).toEqual(['run_shop']);
});
