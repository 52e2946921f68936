import type { AuditFault } from '../../core/records/audit-entry.ts';
import type { SealedRow } from '../tables.ts';
import { hashAfter, startHash } from './hash-chain.ts';

/** The verified part of one segment. */
export interface SegmentState {
  sequence: number;
  /** The stored hash of the last record. */
  hash: string;
  /** The hash that the last record should have had. Differs from `hash` if only its hash was changed. */
  computed: string;
  /** The first sequence that was found. */
  readonly first: number;
  /** Sequences that were left out so far. */
  readonly missing: Set<number>;
}

/** The start of the verification of a segment, if it is not its first record. */
export interface SegmentStart {
  readonly sequence: number;
  /** The hash of the record before; absent if it is not known. */
  readonly hash?: string;
}

type Fault = Omit<AuditFault, 'segment'>;
const MAX_MISSING = 10_000;

/** Begins a segment with the first row found of it. */
export function beginSegment(row: SealedRow, start: SegmentStart | undefined): { state: SegmentState; fault?: Fault } {
  const stateAt = (sequence: number, hash: string): SegmentState => ({
    ...{ sequence, hash, computed: hash, first: row.sequence, missing: new Set() },
  });
  if (row.sequence === 1 && (start?.sequence ?? 0) <= 1) return next(row, stateAt(0, startHash(row.segment, row.link)));
  if (start && row.sequence === start.sequence + 1 && start.hash !== undefined)
    return next(row, stateAt(start.sequence, start.hash));
  const state = stateAt(row.sequence, row.hash);
  if (start && (start.hash === undefined || row.sequence <= start.sequence)) return { state };
  const from = start ? start.sequence + 1 : 1;
  return { state, fault: removed(from, row.sequence - 1) };
}

/** Checks the next row of a segment, and moves the state on. */
export function continueSegment(row: SealedRow, state: SegmentState): Fault | undefined {
  return next(row, state).fault;
}

function next(row: SealedRow, state: SegmentState): { state: SegmentState; fault?: Fault } {
  const expected = state.sequence + 1;
  if (row.sequence === expected) return checked(row, state);
  if (follows({ ...row, sequence: expected }, state)) {
    advance(state, { ...row, sequence: expected });
    return { state, fault: changed(row, expected, `It had the number ${expected} and now has ${row.sequence}.`) };
  }
  if (row.sequence > expected) {
    for (let at = expected; at < Math.min(row.sequence, expected + MAX_MISSING); at += 1) state.missing.add(at);
    advance(state, row);
    return { state, fault: removed(expected, row.sequence - 1) };
  }
  const message = 'It is after a record with a higher number.';
  if (state.missing.delete(row.sequence)) return { state, fault: { kind: 'moved', sequence: row.sequence, message } };
  return {
    state,
    fault: { kind: 'inserted', sequence: row.sequence, message: 'A record with this number was there already.' },
  };
}

function checked(row: SealedRow, state: SegmentState): { state: SegmentState; fault?: Fault } {
  const isIntact = follows(row, state);
  const message = 'Its hash does not follow from its content and the record before it.';
  const fault = isIntact ? undefined : changed(row, row.sequence, message);
  const computed = isIntact ? row.hash : hashAfter(state.hash, row);
  advance(state, row, computed);
  return { state, ...(fault && { fault }) };
}

const follows = (row: SealedRow, { hash, computed }: SegmentState): boolean =>
  row.hash === hashAfter(hash, row) || (computed !== hash && row.hash === hashAfter(computed, row));

function advance(state: SegmentState, { sequence, hash }: SealedRow, computed: string = hash): void {
  state.sequence = sequence;
  state.hash = hash;
  state.computed = computed;
}

const changed = ({ phase }: SealedRow, sequence: number, message: string): Fault => ({
  ...{ kind: phase === 'checkpoint' ? 'checkpoint' : 'changed', sequence, message },
});

function removed(from: number, to: number): Fault {
  const message = from === to ? `Record ${from} is missing.` : `Records ${from} to ${to} are missing.`;
  return { kind: 'removed', sequence: from, message };
}
