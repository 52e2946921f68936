import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { recordOf, spanOf } from '../fixtures.ts';
import { type QueuedBatch, WriteQueue } from './write-queue.ts';

let written: QueuedBatch[];
let attempts: number;
let broken: boolean;
let queue: WriteQueue;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  written = [];
  attempts = 0;
  broken = false;
  const write = (batch: QueuedBatch) => {
    attempts += 1;
    if (broken) throw new Error('disk full');
    written.push(batch);
  };
  queue = new WriteQueue(write, () => 9_000);
});
afterEach(() => vi.useRealTimers());

const writtenNames = () => written.flatMap(({ records }) => records.map(({ name }) => name));

const sizes = () => written.map(({ records, spans }) => [records.length, spans.length]);

it('writes all records of one turn of the event loop after it, in one batch', async () => {
  queue.append(recordOf());
  const durable = queue.appendDurably(recordOf());
  expect(attempts).toBe(0);
  await durable;
  expect(sizes()).toEqual([[2, 0]]);
});

it('writes non-durable records after 25 ms', async () => {
  queue.append(recordOf());
  queue.appendSpan(spanOf());
  vi.advanceTimersByTime(24);
  await nextTurn();
  expect(sizes()).toEqual([]);
  vi.advanceTimersByTime(1);
  await nextTurn();
  expect(sizes()).toEqual([[1, 1]]);
});

it('writes spans in batches of 500, and the rest on close', async () => {
  queue.appendSpan(spanOf());
  await queue.appendDurably(recordOf());
  expect(sizes()).toEqual([[1, 0]]);
  for (let span = 0; span < 499; span++) queue.appendSpan(spanOf());
  await queue.appendDurably(recordOf());
  queue.appendSpan(spanOf());
  await queue.close();
  expect(sizes()).toEqual([
    [1, 0],
    [1, 500],
    [0, 1],
  ]);
  expect(vi.getTimerCount()).toBe(0);
});

it('makes a record when it is written, and once over several attempts', async () => {
  let made = 0;
  const make = (name: string) => () => {
    made += 1;
    return recordOf({ name });
  };
  broken = true;
  queue.append(make('kept'));
  const refused = queue.appendDurably(make('refused'));
  expect(made).toBe(0);
  await expect(refused).rejects.toMatchObject({ code: 'AUDIT_UNAVAILABLE' });
  broken = false;
  await queue.appendDurably(make('later'));
  expect([made, writtenNames()]).toEqual([3, ['kept', 'later']]);
});

verifies('G11', 'rejects the durable record that is no JSON, and counts a non-durable one as lost', async () => {
  const broken = () => recordOf({ detail: { amount: 1n as never } });
  const refused = queue.appendDurably(broken);
  queue.append(broken);
  queue.appendSpan(() => spanOf({ attributes: { amount: 1n as never } }));
  const written = queue.appendDurably(recordOf({ name: 'another' }));
  await expect(refused).rejects.toMatchObject({
    code: 'AUDIT_UNAVAILABLE',
    message: expect.stringContaining('BigInt'),
  });
  await written;
  expect(writtenNames()).toEqual(['audit', 'another']);
  await queue.close();
});

it('never writes two batches at once', async () => {
  const steps: string[] = [];
  const slow = new WriteQueue(async ({ records }) => {
    steps.push(`begin ${records.length}`);
    await nextTurn();
    await nextTurn();
    steps.push('end');
  }, Date.now);
  const first = slow.appendDurably(recordOf());
  await nextTurn();
  await Promise.all([first, slow.appendDurably(recordOf()), slow.appendDurably(recordOf())]);
  expect(steps).toEqual(['begin 1', 'end', 'begin 2', 'end']);
});

verifies('G11', 'retries a failed write after one second', async () => {
  broken = true;
  queue.append(recordOf({ name: 'kept' }));
  vi.advanceTimersByTime(25);
  await nextTurn();
  await nextTurn();
  expect(attempts).toBe(1);
  broken = false;
  vi.advanceTimersByTime(999);
  await nextTurn();
  expect(attempts).toBe(1);
  vi.advanceTimersByTime(1);
  await nextTurn();
  expect(writtenNames()).toEqual(['kept']);
});

it('drops spans that cannot be written', async () => {
  broken = true;
  queue.appendSpan(spanOf());
  queue.append(recordOf({ name: 'kept' }));
  vi.advanceTimersByTime(25);
  await nextTurn();
  broken = false;
  await queue.appendDurably(recordOf({ name: 'next' }));
  await queue.close();
  expect([sizes(), writtenNames()]).toEqual([[[2, 0]], ['kept', 'next']]);
});

verifies('G11', 'writes the records of a failed batch with the next one', async () => {
  broken = true;
  queue.append(recordOf({ name: 'kept' }));
  await expect(queue.appendDurably(recordOf())).rejects.toMatchObject({
    code: 'AUDIT_UNAVAILABLE',
    message: 'The audit log could not be written: disk full.',
  });
  broken = false;
  await queue.appendDurably(recordOf({ name: 'next' }));
  expect(writtenNames()).toEqual(['kept', 'next']);
  expect(written[0]?.records.map(({ sequence }) => sequence)).toEqual([1, 2]);
});

verifies('G11', 'drops the oldest of more than 10,000 unwritten records and records the loss', async () => {
  broken = true;
  for (let number = 0; number < 10_003; number += 1) queue.append(recordOf({ name: `${number}` }));
  vi.advanceTimersByTime(25);
  await nextTurn();
  broken = false;
  await queue.appendDurably(recordOf({ name: 'next' }));
  await queue.appendDurably(recordOf({ name: 'later' }));
  const names = writtenNames();
  expect([names.length, names[0], names[1], ...names.slice(-3)]).toEqual([
    10_003,
    'audit',
    '3',
    '10002',
    'next',
    'later',
  ]);
  expect(JSON.parse(written[0]?.records[0]?.detail ?? '')).toMatchObject({ lostRecords: 3 });
});

it('starts a new segment after a failed write, because its sequence numbers may be taken', async () => {
  await queue.appendDurably(recordOf());
  broken = true;
  await queue.appendDurably(recordOf()).catch(() => undefined);
  broken = false;
  await queue.appendDurably(recordOf());
  const [before, after] = written.flatMap(({ records }) => records);
  expect(after?.segment).not.toBe(before?.segment);
  expect(after?.sequence).toBe(1);
});

verifies('G11', 'writes on close what arrives meanwhile, and tries a failed write once more', async () => {
  let fails = 1;
  const late = new WriteQueue(
    async ({ records }) => {
      if (fails-- > 0) throw new Error('connection lost');
      if (writtenNames().length === 0) late.append(recordOf({ name: 'late' }));
      written.push({ records, spans: [] });
    },
    () => 9_000,
  );
  late.append(recordOf({ name: 'first' }));
  await late.close();
  expect(writtenNames()).toEqual(['first', 'late']);

  const lost = new WriteQueue(
    async () => {
      throw new Error('disk full');
    },
    () => 9_000,
  );
  lost.append(recordOf());
  await expect(lost.close()).rejects.toThrow('1 audit record unwritten');
});
