import { setImmediate as nextTurn } from 'node:timers/promises';
import type { AuditHead } from '../../core/records/audit-entry.ts';
import type { CheckpointCause } from '../audit-log.ts';
import { type Statements, sql } from '../statements.ts';
import { headLines, readCheckpoint, referencesOf } from './chain-references.ts';
import { type CheckpointOptions, headsAt, newestOfSegments, writeCheckpoint } from './checkpoint.ts';
import { type AuditTable, idsOf, readAudit, windowsOf } from './read-audit.ts';

export interface PruneOptions extends CheckpointOptions {
  readonly table: Statements;
}

/** Rows of one read or deletion. A running gateway writes between two of them. */
const WINDOW = 2_000;
/** Writers of the newest removed segments may still write. */
const MAX_QUIET = 500;

/**
 * Removes the oldest records up to the first that is not older than `before`. A checkpoint is written first: it has the
 * last removed record of each segment that remaining records follow. Returns the number of removed records.
 */
export async function pruneAudit(options: PruneOptions, before: number, cause: CheckpointCause): Promise<number> {
  const { table } = options;
  const { first, last } = await idsOf(table);
  const cut = await lastBefore(table, { first, last }, before);
  if (cut < first) return 0;
  const { newest, count } = await removedSegments(table, first, cut);
  const needed = await neededSegments(table, cut, last);
  for (const [segment] of [...newest].slice(-MAX_QUIET)) needed.add(segment);
  const removed = await headsAt(
    table,
    [...newest].flatMap(([segment, id]) => (needed.has(segment) ? id : [])),
  );
  const heads = [...removed, ...(await earlierStarts(table, cut, { needed, removed }))];
  const pruned = { before, records: count, heads: headLines(heads) };
  await writeCheckpoint(options, { ...cause, detail: { pruned }, always: true });
  for (const [from, to] of windowsOf({ first, last: cut, size: WINDOW }, 'written')) {
    await table.write([sql`DELETE FROM ${{ raw: table.schema }}.audit WHERE id >= ${from} AND id <= ${to}`]);
    await nextTurn();
  }
  return count;
}

/** Returns the id before the first record that is not older than `before`. */
async function lastBefore(table: AuditTable, ids: { first: number; last: number }, before: number): Promise<number> {
  for (const [from, to] of windowsOf({ ...ids, size: WINDOW }, 'written')) {
    const statement = sql`SELECT min(id) AS id FROM ${{ raw: table.schema }}.audit WHERE id >= ${from} AND id <= ${to} AND at >= ${before}`;
    const [row] = await table.read(statement);
    if (row?.id != null) return Number(row.id) - 1;
    await nextTurn();
  }
  return ids.last;
}

/** Returns the last row of each segment, ordered by id, and the number of rows. */
async function removedSegments(table: AuditTable, first: number, last: number) {
  const newest = new Map<string, number>();
  let count = 0;
  for (const [from, to] of windowsOf({ first, last, size: WINDOW }, 'written')) {
    for (const row of await newestOfSegments(table, from, to)) {
      newest.set(String(row.segment), Number(row.id));
      count += Number(row.count);
    }
    await nextTurn();
  }
  return { newest: new Map([...newest].sort(([, one], [, other]) => one - other)), count };
}

/** Returns the segments that remaining records belong or refer to. */
async function neededSegments(table: AuditTable, cut: number, last: number): Promise<Set<string>> {
  const needed = new Set<string>();
  for (const [from, to] of windowsOf({ first: cut + 1, last, size: WINDOW }, 'written')) {
    for (const { segment } of await newestOfSegments(table, from, to)) needed.add(String(segment));
    await nextTurn();
  }
  const also = sql` AND id > ${cut} AND (sequence = 1 OR phase = 'checkpoint')`;
  for await (const rows of readAudit(table, {}, { order: 'written', also }))
    for (const row of rows) for (const { to } of referencesOf(row)) needed.add(to.segment);
  return needed;
}

/** Returns the starts that removed checkpoints have for segments without a removed record. */
async function earlierStarts(
  table: AuditTable,
  cut: number,
  { needed, removed }: { needed: ReadonlySet<string>; removed: readonly AuditHead[] },
): Promise<readonly AuditHead[]> {
  const known = new Set(removed.map(({ segment }) => segment));
  const starts = new Map<string, AuditHead>();
  const also = sql` AND phase = 'checkpoint'`;
  for await (const rows of readAudit(table, {}, { order: 'written', through: cut, also }))
    for (const row of rows)
      for (const head of readCheckpoint(row).pruned ?? [])
        if (needed.has(head.segment) && !known.has(head.segment)) starts.set(head.segment, head);
  return [...starts.values()];
}
