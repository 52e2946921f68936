import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { type QueuedBatch, WriteQueue } from '../audit/write-queue.ts';
import { recordOf } from '../fixtures.ts';
import { entryOf } from './fixtures.ts';
import { JournalQueue } from './journal-queue.ts';
import { toJournalRows } from './journal-rows.ts';
import { StaleFences } from './stale-fences.ts';

let written: QueuedBatch[];
let fail: ((batch: QueuedBatch) => void) | undefined;
let queue: WriteQueue;
let journal: JournalQueue;
let now: number;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  written = [];
  fail = undefined;
  queue = new WriteQueue(
    (batch) => {
      fail?.(batch);
      written.push(batch);
    },
    () => 9_000,
  );
  now = 0;
  journal = new JournalQueue(queue, () => now);
});
afterEach(() => vi.useRealTimers());

const full = () => {
  throw new Error('disk full');
};

const rowsOf = (run: string, sequence: number, text = '') =>
  toJournalRows({ fence: { run, epoch: 1 }, entries: [entryOf(sequence, { detail: { text } })] });

/** Queues a write, and returns what becomes of it. */
function append(run: string, sequence: number, urgency: 'now' | 'soon') {
  const state = { outcome: 'queued' };
  journal.append(rowsOf(run, sequence), urgency).then(
    () => {
      state.outcome = 'written';
    },
    (error: Error) => {
      state.outcome = error.message;
    },
  );
  return state;
}

async function turns() {
  for (let turn = 0; turn < 6; turn++) await nextTurn();
}

const sequences = () =>
  written.map(({ journal: part }) =>
    (part?.writes ?? []).flatMap(({ fence, entries }) => entries.map(({ sequence }) => `${fence.run} ${sequence}`)),
  );

verifies('W5', 'writes `now` in this turn with all that was queued before, and `soon` within 25 ms', async () => {
  const [one, two] = [append('a', 1, 'soon'), append('b', 1, 'now')];
  await turns();
  const three = append('a', 2, 'soon');
  vi.advanceTimersByTime(24);
  await turns();
  expect([one.outcome, two.outcome, three.outcome]).toEqual(['written', 'written', 'queued']);
  vi.advanceTimersByTime(1);
  await turns();
  expect([three.outcome, sequences()]).toEqual(['written', [['a 1', 'b 1'], ['a 2']]]);
  expect(written[0]?.journal?.fences).toEqual([
    { run: 'a', epoch: 1 },
    { run: 'b', epoch: 1 },
  ]);
});

it('adds nothing to a batch without writes of runs', async () => {
  await queue.appendDurably(recordOf());
  expect(written.map((batch) => Object.keys(batch))).toEqual([['records', 'spans']]);
});

it('adds the fence of a record, each once', async () => {
  const fence = { run: 'a', epoch: 1 };
  append('a', 1, 'soon');
  await Promise.all([queue.appendDurably(recordOf(), fence), queue.appendDurably(recordOf(), { ...fence })]);
  expect(written[0]?.journal?.fences).toEqual([fence]);
  await queue.appendDurably(recordOf(), fence);
  expect(written[1]?.journal).toEqual({ fences: [fence], writes: [] });
  await queue.appendDurably(recordOf());
  expect(written[2]?.journal).toBeUndefined();
});

verifies('W5', 'a failed batch rejects `now` and what follows it in its run, and keeps the rest in order', async () => {
  fail = full;
  const states = [
    append('a', 1, 'soon'),
    append('b', 1, 'soon'),
    append('a', 2, 'now'),
    append('a', 3, 'soon'),
    append('b', 2, 'soon'),
  ];
  await turns();
  const rejected = 'The journal of runs could not be written: disk full.';
  expect(states.map(({ outcome }) => outcome)).toEqual(['queued', 'queued', rejected, rejected, 'queued']);
  vi.advanceTimersByTime(25);
  await turns();
  fail = undefined;
  vi.advanceTimersByTime(999);
  await turns();
  expect(written).toEqual([]);
  vi.advanceTimersByTime(1);
  await turns();
  expect(sequences()).toEqual([['a 1', 'b 1', 'b 2']]);
  expect(states.map(({ outcome }) => outcome)).toEqual(['written', 'written', rejected, rejected, 'written']);
});

verifies('W5', 'rejects writes that could not be written for 30 s, so that audit records go on', async () => {
  fail = ({ journal: part }) => {
    if (part) full();
  };
  const state = append('a', 1, 'soon');
  vi.advanceTimersByTime(25);
  await turns();
  now = 29_999;
  await expect(queue.appendDurably(recordOf())).rejects.toMatchObject({ code: 'AUDIT_UNAVAILABLE' });
  expect(state.outcome).toBe('queued');
  now = 30_000;
  await expect(queue.appendDurably(recordOf())).rejects.toMatchObject({ code: 'AUDIT_UNAVAILABLE' });
  expect(state.outcome).toContain('disk full');
  await queue.appendDurably(recordOf());
});

verifies('W5', 'a lost run loses its writes and records of the batch, and the rest keeps its chain', async () => {
  await queue.appendDurably(recordOf({ name: 'before' }));
  const stale = { run: 'a', epoch: 1 };
  fail = ({ journal: part }) => {
    if (part?.fences.some(({ run }) => run === 'a')) throw new StaleFences([stale]);
  };
  const states = [append('a', 1, 'soon'), append('b', 1, 'soon')];
  const kept = queue.appendDurably(recordOf({ name: 'kept' }));
  await expect(queue.appendDurably(recordOf({ name: 'refused' }), stale)).rejects.toMatchObject({
    code: 'RUN_LEASE_LOST',
  });
  await kept;
  expect(states.map(({ outcome }) => outcome)).toEqual(['Another process has taken over the run a.', 'written']);
  const records = written.flatMap((batch) => batch.records);
  expect(records.map(({ name, sequence }) => [name, sequence])).toEqual([
    ['before', 1],
    ['kept', 2],
  ]);
  expect(new Set(records.map(({ segment }) => segment)).size).toBe(1);
});

verifies('W5', '`ready` waits while 1,000 writes or 8 MB are queued, and commits them without delay', async () => {
  let isReady = false;
  const ask = () => {
    isReady = false;
    void journal.ready().then(() => {
      isReady = true;
    });
    return turns();
  };
  fail = full;
  for (let sequence = 1; sequence < 1_000; sequence++) append('a', sequence, 'soon');
  await ask();
  expect(isReady).toBe(true);
  append('a', 1_000, 'soon');
  await ask();
  expect(isReady).toBe(false);
  fail = undefined;
  vi.advanceTimersByTime(1_000);
  await turns();
  expect([isReady, sequences()[0]?.length]).toEqual([true, 1_000]);
  fail = full;
  void journal.append(rowsOf('b', 1, 'x'.repeat(8 * 1024 * 1024)), 'soon');
  await ask();
  expect(isReady).toBe(false);
  fail = undefined;
  append('c', 1, 'now');
  await turns();
  expect(isReady).toBe(true);
});

verifies('W5', 'closing writes what is queued, and rejects what cannot be written', async () => {
  const first = append('a', 1, 'soon');
  await queue.close();
  expect([first.outcome, sequences()]).toEqual(['written', [['a 1']]]);
  await expect(journal.append(rowsOf('a', 2), 'now')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  const other = new WriteQueue(full, () => 9_000);
  const unwritten = new JournalQueue(other).append(rowsOf('a', 1), 'soon');
  await other.close();
  await expect(unwritten).rejects.toMatchObject({ message: 'The store was closed.' });
  expect(vi.getTimerCount()).toBe(0);
});
