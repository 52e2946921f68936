import { hash, randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ChainReport } from '../audit-log.ts';
import type { AuditRow, SealedRow } from '../tables.ts';

/** The end of a hash chain. The next record is linked to it. */
export interface ChainHead {
  readonly segment: string;
  readonly sequence: number;
  readonly hash: string;
}

/** Starts a new chain. Each writer has its own, so that writers of one database never wait for each other's hash. */
export function startChain(segment: string = randomUUID()): ChainHead {
  return { segment, sequence: 0, hash: hash('sha256', `heddle audit segment ${segment}`) };
}

/** Links rows to the chain. The returned head is valid once these rows are committed. */
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

/** Reads the rows after the row of this id, in the order they were written. An empty list means the end. */
export type ReadChain = (after: number) => Promise<readonly (SealedRow & { readonly id: number })[]>;

/**
 * Verifies every chain, and returns the records whose hash does not follow from the one before.
 * Such a record was changed, or its predecessor was removed or moved. Removing the newest records of a segment, or a
 * whole segment, is not detected: no remaining record refers to them.
 */
export async function verifyChains(read: ReadChain, signal: AbortSignal): Promise<ChainReport> {
  const broken: { segment: string; sequence: number }[] = [];
  const heads = new Map<string, string>(); // The last hash of each segment. The rows of several writers alternate.
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
    // A read of SQLite blocks the event loop. Calls in flight run between two batches.
    await nextTurn();
  }
}

// The sequence is part of the hashed text, so records cannot be exchanged. No column contains a NUL character, so
// text cannot be moved between columns without changing the hash.
function hashOf(previous: string, row: Omit<SealedRow, 'hash'>): string {
  const { segment, sequence, call_id, phase, at, caller, via, name, detail } = row;
  return hash(
    'sha256',
    `${previous}\0${segment}\0${sequence}\0${call_id}\0${phase}\0${at}\0${caller}\0${via}\0${name}\0${detail}`,
  );
}
