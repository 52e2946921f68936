import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { formatHead } from '../../src/core/audit-head.ts';
import type { AuditEntry, AuditHead, AuditSearch } from '../../src/core/records/audit-entry.ts';
import type { ReadOrder } from '../../src/store/audit-log.ts';
import { type Bench, onEveryDialect, recordOf } from '../../src/store/fixtures.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import { verifies } from '../requirements.ts';

const signal = new AbortController().signal;
const HOUR = 3_600_000;

onEveryDialect((bench) => {
  describe('reading', () => readingContract(bench));
  describe('segments', () => segmentsContract(bench));
  describe('checkpoints', () => checkpointsContract(bench));
  describe('pruning', () => pruningContract(bench));
  describe('exports', () => exportsContract(bench));
});

async function readAll(store: Store, query: AuditSearch = {}, order: Partial<ReadOrder> = {}) {
  const found: AuditEntry[] = [];
  for await (const batch of store.audit.read(query, { signal, ...order })) found.push(...batch);
  return found;
}

const write = (store: Store, ...names: readonly string[]) =>
  Promise.all(names.map((name) => store.audit.appendDurably(recordOf({ name }))));

const verify = async (store: Store, head?: AuditHead) =>
  (await store.audit.verify({ signal, ...(head && { head }) })).faults.map(({ kind, segment, sequence }) => [
    kind,
    segment,
    sequence,
  ]);

/** Opens a second writer, which has a segment of its own, and closes it after `work`. */
async function withWriter<T>({ database }: Bench, work: (store: Store) => Promise<T>): Promise<T> {
  const other = await openStore({ location: database.location, clock: () => 9_000 });
  try {
    return await work(other);
  } finally {
    await other.close();
  }
}

function readingContract(bench: Bench): void {
  verifies('G11', 'finds records by any field, by time and by text', async () => {
    const { audit } = bench.store;
    audit.append(
      recordOf({ callId: '1', at: 1, detail: { servers: ['demo', 'spare'], arguments: { 'a.b': 'Grüße' } } }),
    );
    audit.append(recordOf({ callId: '2', at: 2, caller: 'key:ci', phase: 'intent', detail: { decision: 'deny' } }));
    await audit.appendDurably(recordOf({ callId: '3', at: 3, via: 'gateway', name: 'other', detail: { count: 5 } }));
    const found = async (query: AuditSearch) => (await readAll(bench.store, query)).map(({ callId }) => callId);
    expect(await found({})).toEqual(['3', '2', '1']);
    expect(await found({ limit: 2 })).toEqual(['3', '2']);
    expect(await found({ since: 2 })).toEqual(['3', '2']);
    expect(await found({ until: 2 })).toEqual(['2', '1']);
    expect(await found({ caller: 'key:ci' })).toEqual(['2']);
    expect(await found({ callId: '3', name: 'other', via: 'gateway', phase: 'outcome' })).toEqual(['3']);
    expect(await found({ phase: 'intent' })).toEqual(['2']);
    expect(await found({ detail: { servers: 'spare' } })).toEqual(['1']);
    expect(await found({ detail: { 'arguments.a.b': 'Grüße' } })).toEqual(['1']);
    expect(await found({ detail: { count: '5' } })).toEqual(['3']);
    expect(await found({ detail: { count: '5', decision: 'deny' } })).toEqual([]);
    expect(await found({ text: 'gRÜße' })).toEqual(['1']);
    expect(await found({ text: 'KEY:' })).toEqual(['2']);
    expect(await found({ text: "x' OR 1=1 --" })).toEqual([]);
  });

  verifies('G11', 'returns each record with its place in the chain, in the order of writing', async () => {
    const places = await write(bench.store, 'a', 'b', 'c');
    const found = await readAll(bench.store, {}, { order: 'written' });
    expect(found.map(({ name }) => name)).toEqual(['a', 'b', 'c']);
    expect(found.map(({ segment, sequence, hash }) => formatHead({ segment, sequence, hash }))).toEqual(
      places.map(formatHead),
    );
  });

  verifies('G11', '`since` is exact while clocks are set back by up to two hours', async () => {
    const times = Array.from({ length: 400 }, (_, minute) => minute * 60_000).map((at) =>
      at > 4 * HOUR ? at - HOUR : at,
    );
    for (const at of times) bench.store.audit.append(recordOf({ at: 1e12 + at }));
    await bench.store.audit.appendDurably(recordOf({ at: 1e12 + 9 * HOUR }));
    for (const hours of [0, 1, 3, 3.5, 4, 5, 9, 10]) {
      const since = 1e12 + hours * HOUR;
      const wanted = [...times, 9 * HOUR].filter((at) => 1e12 + at >= since).length;
      expect(await readAll(bench.store, { since })).toHaveLength(wanted);
    }
  });

  it('reads several windows of rows', async () => {
    for (let count = 0; count < 4_999; count += 1) bench.store.audit.append(recordOf({ callId: String(count) }));
    await write(bench.store, 'last');
    expect(await readAll(bench.store)).toHaveLength(5_000);
    expect((await readAll(bench.store, { text: '"ok"', limit: 4_500 })).at(-1)?.callId).toBe('500');
  });

  it('stops when the signal aborts, and when the reader stops', async () => {
    await write(bench.store, 'a', 'b');
    const aborted = async () => {
      for await (const _ of bench.store.audit.read({}, { signal: AbortSignal.abort() })) expect.unreachable();
    };
    await expect(aborted()).rejects.toThrow(/aborted/);
    for await (const batch of bench.store.audit.read({}, { signal })) {
      expect(batch).toHaveLength(2);
      break;
    }
  });
}

function segmentsContract(bench: Bench): void {
  verifies('G11', 'links a segment to the newest record that its writer found', async () => {
    const [, newest] = await write(bench.store, 'a', 'b');
    await withWriter(bench, (other) => write(other, 'c', 'd'));
    const links = (await readAll(bench.store, {}, { order: 'written' })).map(({ link }) => link);
    expect(links).toEqual([undefined, undefined, formatHead(newest as AuditHead), undefined]);
    expect(await verify(bench.store)).toEqual([]);
  });

  verifies('G11', 'finds a missing segment and a cut tail by the link of a later segment', async () => {
    const [first] = await write(bench.store, 'a');
    const places = await withWriter(bench, (other) => write(other, 'b', 'c', 'd'));
    await withWriter(bench, (other) => write(other, 'e'));
    const [{ segment }] = places as [AuditHead];
    await bench.database.run(`DELETE FROM audit WHERE name = 'd'`);
    expect(await verify(bench.store)).toEqual([['cut', segment, 3]]);
    await bench.database.run(`DELETE FROM audit WHERE segment = '${segment}'`);
    expect(await verify(bench.store)).toEqual([['missing-segment', segment, 3]]);
    await bench.database.run(`DELETE FROM audit WHERE segment = '${first?.segment}'`);
    expect(await verify(bench.store)).toEqual([['missing-segment', segment, 3]]);
  });

  verifies('G11', 'finds records that exchanged their places or their numbers', async () => {
    const [{ segment }] = (await write(bench.store, 'a', 'b', 'c', 'd')) as [AuditHead];
    const swapNumbers = 'UPDATE audit SET sequence = 5 - sequence WHERE sequence IN (2, 3)';
    await bench.database.run(swapNumbers);
    const found = await verify(bench.store);
    expect(found.map(([, , sequence]) => sequence)).toContain(2);
    await bench.database.run(swapNumbers);
    expect(await verify(bench.store)).toEqual([]);
    await bench.database.run(
      `UPDATE audit SET name = CASE name WHEN 'b' THEN 'c' ELSE 'b' END WHERE name IN ('b', 'c')`,
    );
    expect(await verify(bench.store)).toEqual([
      ['changed', segment, 2],
      ['changed', segment, 3],
    ]);
  });
}

function checkpointsContract(bench: Bench): void {
  verifies('G11', 'a checkpoint has the previous one and the heads that changed since', async () => {
    const [a] = await write(bench.store, 'a');
    const b = await withWriter(bench, async (other) => (await write(other, 'b'))[0]);
    const first = await bench.store.audit.checkpoint();
    expect(await bench.store.audit.checkpoint()).toBeUndefined();
    const [c] = await write(bench.store, 'c');
    const second = await bench.store.audit.checkpoint();
    const [newer, older] = await readAll(bench.store, { phase: 'checkpoint' });
    expect(older).toMatchObject({ caller: 'heddle', via: 'store', name: 'audit.checkpoint', hash: first?.hash });
    expect(older?.detail).toEqual({ heads: [a, b].map((head) => formatHead(head as AuditHead)) });
    expect(newer).toMatchObject({ hash: second?.hash, detail: { previous: formatHead(first as AuditHead) } });
    expect(newer?.detail.heads).toContain(formatHead(c as AuditHead));
    expect(await bench.store.audit.verify({ signal })).toMatchObject({
      records: 5,
      segments: 2,
      checkpoints: 2,
      faults: [],
    });
  });

  verifies('G11', 'a record that is not written yet is new for a checkpoint', async () => {
    bench.store.audit.append(recordOf({ name: 'queued' }));
    expect(await bench.store.audit.checkpoint()).toMatchObject({ sequence: 2 });
    expect(await verify(bench.store)).toEqual([]);
  });

  verifies('G11', 'finds a changed checkpoint, and a segment that only a checkpoint names', async () => {
    await write(bench.store, 'a');
    const [b] = await withWriter(bench, (other) => write(other, 'b'));
    const place = (await bench.store.audit.checkpoint()) as AuditHead;
    await bench.database.run(`DELETE FROM audit WHERE name = 'b'`);
    expect(await verify(bench.store)).toEqual([['missing-segment', b?.segment, 1]]);
    await bench.database.run(`UPDATE audit SET detail = '{"heads":[]}' WHERE phase = 'checkpoint'`);
    expect(await verify(bench.store)).toEqual([['checkpoint', place.segment, place.sequence]]);
  });

  verifies('G11', 'a kept head finds a cut tail, a missing segment and a chain that was written anew', async () => {
    await write(bench.store, 'a', 'b');
    const head = (await bench.store.audit.checkpoint({ always: true })) as AuditHead;
    expect(await verify(bench.store, head)).toEqual([]);
    const other = { ...head, hash: '0'.repeat(64) };
    expect(await verify(bench.store, other)).toEqual([['head', head.segment, head.sequence]]);
    await bench.database.run(`DELETE FROM audit WHERE phase = 'checkpoint'`);
    expect(await verify(bench.store)).toEqual([]);
    expect(await verify(bench.store, head)).toEqual([['head', head.segment, head.sequence]]);
    await bench.database.run('DELETE FROM audit');
    expect(await verify(bench.store, head)).toEqual([['head', head.segment, head.sequence]]);
  });

  verifies('G11', 'a caller cannot imitate a checkpoint by the name of a call', async () => {
    await write(bench.store, 'audit.checkpoint');
    expect(await bench.store.audit.verify({ signal })).toMatchObject({ checkpoints: 0, faults: [] });
  });
}

function pruningContract(bench: Bench): void {
  const dated = (store: Store, ...times: readonly number[]) =>
    Promise.all(times.map((at) => store.audit.appendDurably(recordOf({ at, name: String(at) }))));

  verifies('G11', 'verifies from the checkpoint of a prune on', async () => {
    await dated(bench.store, 1, 2);
    await withWriter(bench, (other) => dated(other, 3, 4));
    await bench.store.audit.checkpoint();
    await withWriter(bench, (other) => dated(other, 5));
    await dated(bench.store, 10_006, 10_007);
    expect(await bench.store.audit.prune(10_000, { caller: 'ada', via: 'cli' })).toBe(6);
    const rest = await readAll(bench.store, {}, { order: 'written' });
    expect(rest.map(({ name }) => name)).toEqual(['10006', '10007', 'audit.checkpoint']);
    expect(rest.at(-1)).toMatchObject({ caller: 'ada', detail: { pruned: { before: 10_000, records: 6 } } });
    const { faults, from } = await bench.store.audit.verify({ signal });
    expect([faults, from?.hash]).toEqual([[], rest.at(-1)?.hash]);
  });

  verifies('G11', 'still finds what was removed besides a prune', async () => {
    const [first] = await dated(bench.store, 1, 2, 10_003, 10_004, 10_005);
    await bench.store.audit.prune(10_000, {});
    await bench.database.run(`DELETE FROM audit WHERE name = '10003'`);
    expect(await verify(bench.store)).toEqual([['removed', first?.segment, 3]]);
  });

  verifies('G11', 'prunes twice, with a writer that was idle meanwhile', async () => {
    await dated(bench.store, 1, 2);
    await withWriter(bench, async (other) => {
      await dated(other, 3, 10_004);
      await bench.store.audit.prune(5, {});
      await dated(bench.store, 10_005, 20_006);
      await bench.store.audit.prune(20_000, {});
      await dated(other, 20_007);
    });
    expect(await verify(bench.store)).toEqual([]);
  });

  it('removes no record that is after a newer one, and nothing if all are newer', async () => {
    await dated(bench.store, 1, 20_000, 2);
    expect(await bench.store.audit.prune(1, {})).toBe(0);
    expect(await bench.store.audit.prune(10_000, {})).toBe(1);
    expect((await readAll(bench.store)).map(({ name }) => name)).toContain('2');
  });
}

function exportsContract(bench: Bench): void {
  async function exported(since?: number): Promise<string[]> {
    await bench.store.audit.checkpoint({ always: true, detail: { export: since === undefined ? {} : { since } } });
    const range = since === undefined ? {} : { from: since };
    return (await readAll(bench.store, {}, { order: 'written', ...range })).map((entry) => JSON.stringify(entry));
  }

  async function verifyLines(texts: readonly string[], head?: AuditHead) {
    const file = join(bench.database.keys.home, 'export.jsonl');
    writeFileSync(file, `${texts.join('\n')}\n`);
    const { faults } = await bench.store.audit.verify({ file, signal, ...(head && { head }) });
    return faults.map(({ kind, sequence }) => [kind, sequence]);
  }

  verifies('G11', 'verifies an export, and finds each change of it with its position', async () => {
    const details = [{ text: '✓ "quoted" \u2028', 10: 1, a: [1.5, null] }, { __proto__: null, b: {} }, { big: 1e21 }];
    for (const [at, detail] of details.entries()) await bench.store.audit.appendDurably(recordOf({ at, detail }));
    await withWriter(bench, (other) => write(other, 'other'));
    const texts = await exported();
    expect(await verifyLines(texts)).toEqual([]);
    expect(await verifyLines(texts.with(1, String(texts[1]).replace('"caller":"ada"', '"caller":"eve"')))).toEqual([
      ['changed', 2],
    ]);
    expect(await verifyLines(texts.toSpliced(1, 1))).toEqual([['removed', 2]]);
    expect(await verifyLines(texts.toSpliced(1, 0, texts[0] as string))).toEqual([['inserted', 1]]);
    expect(await verifyLines([texts[1], texts[0], ...texts.slice(2)] as string[])).not.toEqual([]);
    expect(await verifyLines(texts.toSpliced(3, 1))).toEqual([['missing-segment', 1]]);
    expect(await verifyLines(texts.slice(0, -1))).toEqual([['cut', 2]]);
    expect(await verifyLines(texts.with(1, '{"half": '))).toEqual([
      ['changed', 2],
      ['removed', 2],
    ]);
  });

  verifies('G11', 'verifies an export that starts at a time, and refuses one with conditions', async () => {
    for (const at of [1, 5_000_000_000, 5_000_000_001, 2]) await bench.store.audit.appendDurably(recordOf({ at }));
    const texts = await exported(5_000_000_000);
    expect(texts).toHaveLength(4);
    expect(await verifyLines(texts)).toEqual([]);
    await bench.store.audit.checkpoint({ always: true, detail: { export: { caller: 'ada' } } });
    const some = (await readAll(bench.store)).slice(0, 1).map((entry) => JSON.stringify(entry));
    await expect(verifyLines(some)).rejects.toMatchObject({ code: 'USAGE_INVALID' });
  });
}
