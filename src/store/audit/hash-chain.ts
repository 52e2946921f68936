import { hash, randomUUID } from 'node:crypto';
import { formatHead } from '../../core/audit-head.ts';
import type { AuditHead } from '../../core/records/audit-entry.ts';
import type { AuditRow, SealedRow } from '../tables.ts';

/** The end of a hash chain. The next record is linked to it. */
export interface ChainHead extends AuditHead {
  /** For the first record of a segment: the newest record that its writer found. */
  readonly link: string | null;
}

/**
 * Starts a new chain. Each writer has its own, so that writers of one database never wait for each other's hash.
 * `after` is the newest record of any chain: removing that one, or its whole segment, breaks this chain.
 */
export function startChain(after?: AuditHead, segment: string = randomUUID()): ChainHead {
  const link = after ? formatHead(after) : null;
  return { segment, sequence: 0, hash: startHash(segment, link), link };
}

/** Returns the hash that the first record of a segment follows. */
export const startHash = (segment: string, link: string | null): string =>
  hash('sha256', `heddle audit segment ${segment}${link === null ? '' : ` after ${link}`}`);

/** Links rows to the chain. The returned head is valid once these rows are committed. */
export function sealRecord(
  head: ChainHead,
  rows: readonly AuditRow[],
): { sealed: readonly SealedRow[]; head: ChainHead } {
  const { segment } = head;
  let { sequence, hash: previous, link: first } = head;
  const sealed = rows.map((row) => {
    sequence += 1;
    const { call_id, phase, at, caller, via, name, detail } = row;
    const link = { segment, sequence, hash: '', link: first, call_id, phase, at, caller, via, name, detail };
    first = null;
    previous = hashAfter(previous, link);
    link.hash = previous;
    return link;
  });
  return { sealed, head: { segment, sequence, hash: previous, link: first } };
}

/**
 * Returns the hash of a row after the previous one. The sequence is part of the hashed text, so records cannot be
 * exchanged. No column contains a NUL character, so text cannot be moved between columns without changing the hash.
 */
export function hashAfter(previous: string, row: Omit<SealedRow, 'hash' | 'link'>): string {
  const { segment, sequence, call_id, phase, at, caller, via, name, detail } = row;
  return hash(
    'sha256',
    `${previous}\0${segment}\0${sequence}\0${call_id}\0${phase}\0${at}\0${caller}\0${via}\0${name}\0${detail}`,
  );
}
