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
export function sealRecord(
  head: ChainHead,
  rows: readonly AuditRow[],
): { sealed: readonly SealedRow[]; head: ChainHead } {
  const { segment } = head;
  let { sequence, hash: previous } = head;
  const sealed = rows.map((row) => {
    sequence += 1;
    const { call_id, phase, at, caller, via, name, detail } = row;
    const link = { segment, sequence, hash: '', call_id, phase, at, caller, via, name, detail };
    previous = hashOf(previous, link);
    link.hash = previous;
    return link;
  });
  return { sealed, head: { segment, sequence, hash: previous } };
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
      const previous = heads.get(segment) ?? startChain(segment).hash;
      if (row.hash !== hashOf(previous, row)) broken.push({ segment, sequence });
      heads.set(segment, row.hash);
      last = id;
    }
    records += rows.length;
    // A read of SQLite blocks; calls in flight get their turn between two batches.
    await nextTurn();
  }
}

// The sequence is part of what is hashed, so a record cannot take another one's place. No column that we write holds a
// NUL, so nothing can move from one column to the next without changing the text.
function hashOf(previous: string, row: Omit<SealedRow, 'hash'>): string {
  const { segment, sequence, call_id, phase, at, caller, via, name, detail } = row;
  return hash(
    'sha256',
    `${previous}\0${segment}\0${sequence}\0${call_id}\0${phase}\0${at}\0${caller}\0${via}\0${name}\0${detail}`,
  );
}
