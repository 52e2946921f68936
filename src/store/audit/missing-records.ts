import type { AuditFault } from '../../core/records/audit-entry.ts';
import type { ChainReference } from './chain-references.ts';
import type { SegmentStart, SegmentState } from './verify-segment.ts';

/** The segments that a verification has found. */
export interface FoundSegments {
  readonly segments: ReadonlyMap<string, SegmentState>;
  /** By segment: the last record that was pruned. */
  readonly starts: ReadonlyMap<string, SegmentStart>;
  readonly isPartial: boolean;
}

/** Returns one fault for each segment of which the end is missing, or the whole, by the references that were not met. */
export function missingOf(unmet: readonly ChainReference[], found: FoundSegments): readonly AuditFault[] {
  const faults = new Map<string, AuditFault>();
  for (const reference of unmet) {
    const fault = missing(reference, found);
    if (!fault) continue;
    const key = fault.kind === 'head' ? fault.kind : fault.segment;
    if ((faults.get(key)?.sequence ?? 0) < fault.sequence) faults.set(key, fault);
  }
  return [...faults.values()];
}

function missing({ to, from }: ChainReference, found: FoundSegments): AuditFault | undefined {
  const { segment, sequence } = to;
  if (!from) return { kind: 'head', segment, sequence, message: 'The record of the kept head is not in the log.' };
  const state = found.segments.get(segment);
  if (isBeforeStart(to, state, found)) return undefined;
  const by = `record ${from.sequence} of ${from.segment} refers to record ${sequence} of it`;
  if (!state) return { kind: 'missing-segment', segment, sequence, message: `The whole segment is missing: ${by}.` };
  // A gap before the last record has been reported as removed.
  if (sequence <= state.sequence) return undefined;
  return { kind: 'cut', segment, sequence: state.sequence + 1, message: `Its end is missing: ${by}.` };
}

function isBeforeStart(
  { segment, sequence }: ChainReference['to'],
  state: SegmentState | undefined,
  { starts, isPartial }: FoundSegments,
): boolean {
  if (sequence <= (starts.get(segment)?.sequence ?? 0)) return true;
  return isPartial && (!state || sequence < state.first);
}

/** Returns the fault of a record whose hash differs from the one that a reference states. */
export function rewritten({ to, from }: ChainReference): AuditFault {
  const { segment, sequence } = to;
  if (!from) return { kind: 'head', segment, sequence, message: 'It has another hash than the kept head.' };
  const message = `It has another hash than record ${from.sequence} of ${from.segment} states: the chain was written anew.`;
  return { kind: 'changed', segment, sequence, message };
}
