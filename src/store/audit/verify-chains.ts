import type { AuditFault, AuditHead, AuditVerification } from '../../core/records/audit-entry.ts';
import type { SealedRow } from '../tables.ts';
import { type ChainReference, readCheckpoint, referencesOf } from './chain-references.ts';
import { describeVerification } from './describe-verification.ts';
import { missingOf, rewritten } from './missing-records.ts';
import { beginSegment, continueSegment, type SegmentStart, type SegmentState } from './verify-segment.ts';

/** Records to verify: those of a database, or of an export. They are read twice, so that they need not fit in memory. */
export interface ChainSource {
  /** Reads at least the checkpoints and the first record of each segment. */
  anchors(): AsyncIterable<readonly SealedRow[]>;
  /** Reads all records in the order they were written. */
  all(): AsyncIterable<readonly SealedRow[]>;
  /** Returns true if other records of the same store say that calls were made. */
  hasCalls?(): Promise<boolean>;
  /** True if records from before some time were left out. */
  readonly isPartial?: boolean;
}

const MAX_FAULTS = 1_000;
const keyOf = (segment: string, sequence: number) => `${segment} ${sequence}`;

/**
 * Verifies every chain: each record follows from the one before, each segment from the newest record its writer found,
 * and each checkpoint from the one before and the heads of all segments. Each fault is reported with its position.
 */
export async function verifyChains(source: ChainSource, head?: AuditHead): Promise<AuditVerification> {
  const hasCalls = await source.hasCalls?.(); // Read first: records are written with or before the traces of their calls.
  const anchors = await readAnchors(source);
  if (head) addReference(anchors.wanted, { to: head });
  const check = checker(anchors, source.isPartial === true);
  for await (const rows of source.all()) for (const row of rows) check.row(row);
  const found = check.end(hasCalls === true);
  return describeVerification({ ...found, end: head ? 'checked' : 'unknown' });
}

const EMPTIED: AuditFault = {
  ...{ kind: 'emptied', segment: '-', sequence: 0 },
  message: 'The log has no records, but the store has traces of calls: the records were removed.',
};

/** The statements of records about other records, read before those are checked. */
interface Anchors {
  /** By place: the references to it. */
  readonly wanted: Map<string, ChainReference[]>;
  /** By segment: the last record that was pruned. */
  readonly starts: ReadonlyMap<string, SegmentStart & AuditHead>;
  readonly checkpoints: number;
  readonly from?: AuditHead;
}

async function readAnchors(source: ChainSource): Promise<Anchors> {
  const wanted = new Map<string, ChainReference[]>();
  const starts = new Map<string, AuditHead>();
  let checkpoints = 0;
  let from: AuditHead | undefined;

  function addCheckpoint(row: SealedRow): void {
    checkpoints += 1;
    const { pruned } = readCheckpoint(row);
    if (!pruned) return;
    from = { segment: row.segment, sequence: row.sequence, hash: row.hash };
    for (const start of pruned) {
      const known = starts.get(start.segment);
      if (!known || known.sequence < start.sequence) starts.set(start.segment, start);
    }
  }

  for await (const rows of source.anchors()) {
    for (const row of rows) {
      for (const reference of referencesOf(row)) addReference(wanted, reference);
      if (row.phase === 'checkpoint') addCheckpoint(row);
    }
  }
  return { wanted, starts, checkpoints, ...(from && { from }) };
}

function addReference(wanted: Map<string, ChainReference[]>, reference: ChainReference): void {
  const key = keyOf(reference.to.segment, reference.to.sequence);
  const known = wanted.get(key);
  if (known) known.push(reference);
  else wanted.set(key, [reference]);
}

function checker({ wanted, starts, checkpoints, from }: Anchors, isPartial: boolean) {
  const segments = new Map<string, SegmentState>();
  const faults: AuditFault[] = [];
  const faulty = new Set<string>(); // The places with a fault: the statements of those records do not count.
  const wrong: ChainReference[] = [];
  let [records, faultCount] = [0, 0];

  function report(fault: AuditFault): void {
    faultCount += 1;
    faulty.add(keyOf(fault.segment, fault.sequence));
    if (fault.kind === 'moved') {
      // The gap that it left was reported as a removed record.
      const gap = faults.findIndex(
        ({ kind, segment, sequence }) => kind === 'removed' && segment === fault.segment && sequence === fault.sequence,
      );
      if (gap >= 0) faultCount -= faults.splice(gap, 1).length;
    }
    if (faults.length < MAX_FAULTS) faults.push(fault);
  }

  function row(one: SealedRow): void {
    records += 1;
    const { segment } = one;
    const state = segments.get(segment);
    if (state) {
      const fault = continueSegment(one, state);
      if (fault) report({ segment, ...fault });
    } else {
      const begun = beginSegment(one, starts.get(segment) ?? (isPartial ? { sequence: one.sequence } : undefined));
      segments.set(segment, begun.state);
      if (begun.fault) report({ segment, ...begun.fault });
    }
    const key = keyOf(segment, one.sequence);
    const references = wanted.get(key);
    if (!references) return;
    wanted.delete(key);
    wrong.push(...references.filter(({ to }) => to.hash !== one.hash));
  }

  function end(hasCalls: boolean): Omit<AuditVerification, 'end' | 'message'> {
    const counts = (reference: ChainReference) =>
      !reference.from || !faulty.has(keyOf(reference.from.segment, reference.from.sequence));
    const known = new Set(faulty);
    for (const reference of wrong.filter(counts)) {
      const { segment, sequence } = reference.to;
      if (!known.has(keyOf(segment, sequence))) report(rewritten(reference));
      known.add(keyOf(segment, sequence));
    }
    if (records === 0 && hasCalls) report(EMPTIED);
    for (const fault of missingOf([...wanted.values()].flat().filter(counts), { segments, starts, isPartial }))
      report(fault);
    return { records, segments: segments.size, checkpoints, ...(from && { from }), faults, faultCount };
  }

  return { row, end };
}
