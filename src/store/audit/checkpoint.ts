import { setImmediate as nextTurn } from 'node:timers/promises';
import { formatHead } from '../../core/audit-head.ts';
import type { AuditHead } from '../../core/records/audit-entry.ts';
import type { Clock } from '../../core/time.ts';
import type { AuditLog, CheckpointCause } from '../audit-log.ts';
import type { SqlRow, Statements } from '../statements.ts';
import { headLines } from './chain-references.ts';
import { type AuditTable, idsOf, windowsOf } from './read-audit.ts';

export interface CheckpointOptions {
  readonly table: Pick<Statements, 'schema' | 'read'>;
  readonly append: AuditLog['appendDurably'];
  /** Tests whether records wait to be written. They will be before the checkpoint. */
  readonly hasQueued: () => boolean;
  readonly clock: Clock;
}

/** Rows of one read. A read blocks calls for about a millisecond. */
const WINDOW = 4_000;
/** Transactions of other writers may commit a little later than newer ones. */
const LATE_IDS = 1_000;
/** Heads in one record. More are spread over several checkpoints. */
const MAX_HEADS = 500;

/**
 * Writes a checkpoint: the previous one, and the newest record of each segment that has changed since. Returns its
 * place, or undefined if there is no new record.
 */
export async function writeCheckpoint(
  options: CheckpointOptions,
  cause: CheckpointCause = {},
): Promise<AuditHead | undefined> {
  const hasQueued = options.hasQueued();
  const { previous, heads, hasNew } = await changedHeads(options.table);
  if (!hasNew && !hasQueued && !cause.always) return undefined;
  const { callId = '', caller = 'heddle', via = 'store', detail = {} } = cause;
  let place: AuditHead | undefined;
  for (let at = 0; at === 0 || at < heads.length; at += MAX_HEADS) {
    const before = place ?? previous;
    place = await options.append({
      ...{ callId, phase: 'checkpoint', at: options.clock(), caller, via, name: 'audit.checkpoint' },
      detail: {
        ...(before && { previous: formatHead(before) }),
        heads: headLines(heads.slice(at, at + MAX_HEADS)),
        ...(at + MAX_HEADS >= heads.length && detail),
      },
    });
  }
  return place;
}

/** Finds the newest record of each segment since the last checkpoint, from the newest row backwards. */
async function changedHeads(table: AuditTable) {
  const { first, last } = await idsOf(table);
  const newest = new Map<string, number>();
  let checkpoint = 0;
  for (const [from, to] of windowsOf({ first, last, size: WINDOW }, 'newest')) {
    for (const row of await newestOfSegments(table, from, to)) {
      const segment = String(row.segment);
      if (!newest.has(segment)) newest.set(segment, Number(row.id));
      checkpoint = Math.max(checkpoint, Number(row.checkpoint));
    }
    if (checkpoint > 0 && from <= checkpoint - LATE_IDS) break;
    await nextTurn();
  }
  const heads = await headsAt(
    table,
    [...newest.values()].sort((one, other) => one - other),
  );
  const [previous] = checkpoint > 0 ? await headsAt(table, [checkpoint]) : [];
  return { previous, heads, hasNew: last > checkpoint };
}

/** Reads the newest row of each segment in a range of ids, the newest checkpoint and the number of rows. */
export async function newestOfSegments(table: AuditTable, from: number, to: number): Promise<readonly SqlRow[]> {
  return table.read({
    sql: `SELECT segment, max(id) AS id, count(*) AS count, max(CASE WHEN phase = 'checkpoint' THEN id ELSE 0 END) AS checkpoint
          FROM ${table.schema}.audit WHERE id >= ? AND id <= ? GROUP BY segment`,
    values: [from, to],
  });
}

/** Reads the place of each row, ordered by id. */
export async function headsAt(table: AuditTable, ids: readonly number[]): Promise<readonly AuditHead[]> {
  const found: AuditHead[] = [];
  for (let at = 0; at < ids.length; at += MAX_HEADS) {
    const some = ids.slice(at, at + MAX_HEADS);
    const rows = await table.read({
      sql: `SELECT segment, sequence, hash FROM ${table.schema}.audit WHERE id IN (${some.map(() => '?').join(', ')}) ORDER BY id`,
      values: some,
    });
    for (const { segment, sequence, hash } of rows)
      found.push({ segment: String(segment), sequence: Number(sequence), hash: String(hash) });
  }
  return found;
}
