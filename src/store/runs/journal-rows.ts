import type { JsonObject } from '../../core/call.ts';
import { parseExact } from '../../core/exact-numbers.ts';
import { ENDED_STATUSES } from '../../core/records/run.ts';
import { storable } from '../rows.ts';
import type { JournalEntry, JournalValue, JournalWrite, RunChange, RunFence } from '../run-journal.ts';
import { type SqlStatement, type Statements, sql } from '../statements.ts';
import { listed, runTable } from './run-tables.ts';

/** A row of the table `run_entries`. */
export interface EntryRow {
  readonly run: string;
  readonly sequence: number;
  readonly at: number;
  readonly kind: string;
  readonly path: string;
  readonly detail: string;
}

/** A write of the journal, ready for the database. */
export interface JournalRows {
  readonly fence: RunFence;
  readonly entries: readonly EntryRow[];
  readonly values: readonly JournalValue[];
  /** The values that the entries name, new or not. They are kept as long as the run. */
  readonly uses: readonly string[];
  readonly change: RunChange | undefined;
  /** The characters of all texts. */
  readonly size: number;
}

const NAMED_VALUE = /"sha256":"([0-9a-f]{64})"/g;

export const isEnd = ({ status }: RunChange): boolean => status !== undefined && ENDED_STATUSES.includes(status);

/** Tests whether a change has to reach other processes: an end, or a call in doubt. */
export const isReported = (change: RunChange): boolean => isEnd(change) || change.status === 'in_doubt';

/** Converts a write. Throws for values that would make the database refuse the whole batch. */
export function toJournalRows(write: JournalWrite): JournalRows {
  const { fence, values = [], change } = write;
  const entries = toEntryRows(fence.run, write.entries);
  if (change && isEnd(change) && !Number.isFinite(change.endedAt))
    throw new TypeError(`The end of the run ${fence.run} has no time.`);
  const uses = usesOf(entries, [...values.map(({ sha256 }) => sha256), ...(change?.output ? [change.output] : [])]);
  const size = [...entries.map(({ detail }) => detail), ...values.map(({ json }) => json)].reduce(
    (sum, text) => sum + text.length,
    0,
  );
  return { fence, entries, values, uses, change, size };
}

export function toEntryRows(run: string, entries: readonly JournalEntry[]): readonly EntryRow[] {
  return entries.map(({ sequence, at, kind, path, detail }) => {
    if (!Number.isSafeInteger(sequence) || !Number.isFinite(at))
      throw new TypeError(`An entry of the run ${run} has no sequence or no time.`);
    return { run, sequence, at, kind: storable(kind), path: storable(path), detail: JSON.stringify(detail) };
  });
}

export const fromEntryRow = ({ sequence, at, kind, path, detail }: EntryRow): JournalEntry => ({
  sequence,
  at,
  kind,
  path,
  detail: parseExact(detail) as JsonObject,
});

/** Returns the digests of values that entries name, and the given ones. */
export function usesOf(entries: readonly EntryRow[], digests: readonly string[]): readonly string[] {
  const uses = new Set(digests);
  for (const { detail } of entries) {
    if (!detail.includes('"sha256":"')) continue;
    for (const [, digest] of detail.matchAll(NAMED_VALUE)) uses.add(digest as string);
  }
  return uses.size === 0 ? NONE : [...uses];
}

const NONE: readonly string[] = [];

/** Returns the statement that changes a run. A new status without `wakeAt` removes the old one. */
export function changeStatement(
  statements: Pick<Statements, 'schema'>,
  run: string,
  change: RunChange,
): SqlStatement | undefined {
  const { status, wakeAt, endedAt, error, output, signalSeen } = change;
  const sets = [
    ...(status === undefined ? [] : [sql`status = ${status}`]),
    ...(status === undefined && wakeAt === undefined ? [] : [sql`wake_at = ${wakeAt ?? null}`]),
    ...(endedAt === undefined ? [] : [sql`ended_at = ${endedAt}`]),
    ...(isEnd(change) ? [sql`owner = NULL, due_at = NULL`] : []),
    ...(error === undefined ? [] : [sql`error = ${JSON.stringify(error)}`]),
    ...(output === undefined ? [] : [sql`output = ${output}`]),
    ...(signalSeen === undefined ? [] : [sql`signal_seen = ${signalSeen}`]),
  ];
  return sets.length === 0
    ? undefined
    : sql`UPDATE ${runTable(statements, 'runs')} SET ${listed(sets)} WHERE id = ${run}`;
}
