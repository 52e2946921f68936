import { hash, randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ChainReport } from './audit-log.ts';
import type { AuditRow, SealedRow } from './tables.ts';

/** Where a chain ends: the next record follows from here. */
export interface ChainHead {
  readonly segment: string;
  readonly sequence: number;
  readonly hash: string;
}

/** Begins a chain of its own, so that several writers of one database never wait for each other's hash. */
export function startChain(segment: string = randomUUID()): ChainHead {
  return { segment, sequence: 0, hash: hash('sha256', `heddle audit segment ${segment}`) };
}

/** Links rows to the chain; the head it returns counts only once these rows are committed. */
export function seal(head: ChainHead, rows: readonly AuditRow[]): { sealed: readonly SealedRow[]; head: ChainHead } {
  let last = head;
  const sealed = rows.map((row) => {
    const sequence = last.sequence + 1;
    const link = {
      segment: head.segment,
      sequence,
      hash: hashOf(last.hash, { ...row, segment: head.segment, sequence }),
    };
    last = link;
    return { ...row, ...link };
  });
  return { sealed, head: last };
}

/** Reads the rows written after the row of this id, in the order they were written; none means the end. */
export type ReadChain = (after: number) => Promise<readonly (SealedRow & { readonly id: number })[]>;

/**
 * Walks every chain and says which records do not follow from the one before: changed, or left behind where another
 * was removed or moved. The newest records of a segment, or a whole segment, can be cut off without a trace:
 * nothing that is left points at them.
 */
export async function verifyChains(read: ReadChain, signal: AbortSignal): Promise<ChainReport> {
  const broken: { segment: string; sequence: number }[] = [];
  const heads = new Map<string, string>(); // The last hash of each segment: several writers take turns.
  let records = 0;
  let last = 0;
  for (;;) {
    signal.throwIfAborted();
    const rows = await read(last);
    if (rows.length === 0) return { records, segments: heads.size, broken };
    for (const row of rows) {
      const { id, segment, sequence } = row;
      if (row.hash !== hashOf(heads.get(segment) ?? startChain(segment).hash, row)) broken.push({ segment, sequence });
      heads.set(segment, row.hash);
      last = id;
    }
    records += rows.length;
    // A read of SQLite blocks; calls in flight get their turn between two batches.
    await nextTurn();
  }
}

// The sequence is part of what is hashed, so a record cannot take another one's place.
function hashOf(previous: string, row: Omit<SealedRow, 'hash'>): string {
  const { segment, sequence, call_id, phase, at, caller, via, name, detail } = row;
  return hash('sha256', previous + JSON.stringify([segment, sequence, call_id, phase, at, caller, via, name, detail]));
}
