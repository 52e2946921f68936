import type { AuditEntry, AuditSearch } from '../../core/records/audit-entry.ts';
import type { AuditApi } from '../../heddle.ts';
import { untilInterrupted } from '../input/interrupt.ts';
import { localCaller } from '../local-caller.ts';

/** Records that are read on for the openings of calls, once all calls are found. */
const MORE_RECORDS = 1_000;

/** The records of one call that a search has found: the newest, and the opening one with the arguments. */
export interface AuditedCall {
  readonly newest: AuditEntry;
  readonly opening: AuditEntry | undefined;
  /** The newest outcome of the call, also if the search does not match it. */
  readonly outcome?: AuditEntry | undefined;
}

// Administrative acts have no call id, so each record is a row of its own.
const keyOf = ({ callId, segment, sequence }: AuditEntry) => callId || `${segment} ${sequence}`;

/** Returns the newest calls, one per call id: at most `limit`, and true if there are more. */
export async function findCalls(
  audit: AuditApi,
  query: AuditSearch,
  limit: number,
): Promise<{ readonly calls: readonly AuditedCall[]; readonly hasMore: boolean }> {
  const calls = new Map<string, AuditedCall>();
  let [hasMore, readOn] = [false, 0];
  for await (const batch of audit.search(localCaller(), query, untilInterrupted())) {
    for (const record of batch) {
      const known = calls.get(keyOf(record));
      if (known === undefined && calls.size === limit) hasMore = true;
      else calls.set(keyOf(record), joined(known, record));
    }
    if (hasMore) readOn += batch.length;
    if (readOn > MORE_RECORDS || (hasMore && [...calls.values()].every(({ opening }) => opening))) break;
  }
  return { calls: await withOutcomes(audit, [...calls.values()]), hasMore };
}

/** Adds the outcomes of calls whose newest record that was found is an earlier one. */
async function withOutcomes(audit: AuditApi, calls: readonly AuditedCall[]): Promise<readonly AuditedCall[]> {
  const open = calls.map(({ newest }) => newest).filter(({ callId, phase }) => callId !== '' && phase !== 'outcome');
  if (open.length === 0) return calls;
  const left = new Set(open.map(({ callId }) => callId));
  const outcomes = new Map<string, AuditEntry>();
  const query = {
    phase: 'outcome',
    since: open.reduce((first, { at }) => Math.min(first, at), Number.POSITIVE_INFINITY),
  };
  for await (const batch of audit.search(localCaller(), query, untilInterrupted())) {
    for (const record of batch) if (left.delete(record.callId)) outcomes.set(record.callId, record);
    if (left.size === 0) break;
  }
  return calls.map((call) => ({ ...call, outcome: outcomes.get(call.newest.callId) }));
}

// Records come newest first, so the last opening that is found is that of the first attempt.
const joined = (known: AuditedCall | undefined, record: AuditEntry): AuditedCall => ({
  newest: known?.newest ?? record,
  opening: record.phase === 'intent' ? record : known?.opening,
});
