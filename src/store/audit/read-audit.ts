import { setImmediate as nextTurn } from 'node:timers/promises';
import type { AuditSearch } from '../../core/records/audit-entry.ts';
import { type SqlRow, type SqlStatement, type Statements, sql } from '../statements.ts';
import type { SealedRow } from '../tables.ts';
import { conditionsOf, rowMatcher } from './matches-search.ts';

/** Reads an audit table, here or in a thread. */
export interface AuditTable extends Pick<Statements, 'schema' | 'read'> {
  /** Ids of one read, which may change between two reads. Default: 500. */
  readonly window?: number;
}

/** Short reads let the writer move its log into the database meanwhile. */
export const WINDOW = 500;
/** `since` and `until` stay exact while clocks are set back by at most this time. */
const CLOCK_MARGIN_MS = 2 * 3_600_000;
const COLUMNS = 'id, segment, sequence, hash, link, call_id, phase, at, caller, via, name, detail';

/** A stored row with its id. Ids grow in the order of writing. */
export interface StoredRow extends SealedRow {
  readonly id: number;
}

export interface ReadRange {
  readonly order: 'newest' | 'written';
  /** Rows with this id or less. Default: all. */
  readonly through?: number;
  /** Further SQL conditions, each with `AND` before it. */
  readonly also?: SqlStatement;
  /** Starts with the first record of this time or later, and leaves out none after it. Only in the order of writing. */
  readonly from?: number;
}

/** Rows that are read faster here than a thread starts. */
const FEW_ROWS = 5_000;

/** Returns true if few rows are newer than the start of a range. */
export async function hasFewRows(table: AuditTable, { from }: ReadRange): Promise<boolean> {
  if (from === undefined) return false;
  const { first, last } = await boundsOf(table, { since: from });
  return last - first < FEW_ROWS;
}

/** Reads the matching rows in batches. Every batch is one short read. */
export async function* readAudit(
  table: AuditTable,
  query: AuditSearch,
  { order, through, also = { sql: '', values: [] }, from: start }: ReadRange,
): AsyncGenerator<readonly StoredRow[]> {
  const bounds = await boundsOf(table, start === undefined ? query : { ...query, since: start });
  const last = Math.min(bounds.last, through ?? bounds.last);
  const conditions = conditionsOf(query);
  const matches = rowMatcher(query);
  const direction = order === 'newest' ? 'DESC' : 'ASC';
  const started = startingAt(start);
  let left = query.limit ?? Number.POSITIVE_INFINITY;
  const range: IdRange = {
    first: bounds.first,
    last,
    get size() {
      return table.window ?? WINDOW;
    },
  };
  for (const [from, to] of windowsOf(range, order)) {
    const rows = await table.read({
      sql: `SELECT ${COLUMNS} FROM ${table.schema}.audit WHERE id >= ? AND id <= ?${conditions.sql}${also.sql} ORDER BY id ${direction}`,
      values: [from, to, ...conditions.values, ...also.values],
    });
    const found = started(rows.map(toStoredRow)).filter(matches).slice(0, left);
    left -= found.length;
    if (found.length > 0) yield found;
    if (left <= 0) return;
    await nextTurn(); // In the main thread, calls in flight run between two reads.
  }
}

/** Returns a function that drops rows until the first of this time or later. */
function startingAt(time: number | undefined): (rows: readonly StoredRow[]) => readonly StoredRow[] {
  let isStarted = time === undefined;
  return (rows) => {
    if (isStarted || time === undefined) return rows;
    const first = rows.findIndex(({ at }) => at >= time);
    isStarted = first >= 0;
    return isStarted ? rows.slice(first) : [];
  };
}

/** Returns the ids of the first and the last row. An empty table has a last id before the first. */
export async function idsOf(table: AuditTable): Promise<{ readonly first: number; readonly last: number }> {
  const audit = `${table.schema}.audit`;
  // SQLite looks up one extreme by the key; for both in one query it would read the whole table.
  const [row] = await table.read({
    sql: `SELECT (SELECT min(id) FROM ${audit}) AS first, (SELECT max(id) FROM ${audit}) AS last`,
    values: [],
  });
  return row?.first == null ? { first: 1, last: 0 } : { first: Number(row.first), last: Number(row.last) };
}

/** Returns the ids of rows that may be in the time of the query, found by bisection. */
async function boundsOf(table: AuditTable, { since, until }: AuditSearch) {
  const { first, last } = await idsOf(table);
  const from = since === undefined ? first : await firstSince(table, { first, last }, since - CLOCK_MARGIN_MS);
  const after = until === undefined ? last : await firstSince(table, { first, last }, until + CLOCK_MARGIN_MS);
  return { first: from, last: Math.min(last, after) };
}

/** Finds an id whose row has this time or a later one, and the row before it an earlier one. */
async function firstSince(table: AuditTable, ids: { first: number; last: number }, time: number): Promise<number> {
  let low = ids.first;
  let high = ids.last + 1;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const statement = sql`SELECT id, at FROM ${{ raw: table.schema }}.audit WHERE id >= ${middle} ORDER BY id LIMIT 1`;
    const [row] = await table.read(statement);
    if (!row || Number(row.at) >= time) high = middle;
    else low = Number(row.id) + 1;
  }
  return low;
}

/** Ids of a table, to be read in parts of `size`, which is read anew for each part. */
export interface IdRange {
  readonly first: number;
  readonly last: number;
  readonly size: number;
}

/** Divides a range of ids into parts, from its newest or its oldest id on. */
export function* windowsOf(
  range: IdRange,
  order: 'newest' | 'written',
): Generator<readonly [from: number, to: number]> {
  let { first, last } = range;
  while (first <= last) {
    const { size } = range;
    if (order === 'newest') {
      yield [Math.max(first, last - size + 1), last];
      last -= size;
    } else {
      yield [first, Math.min(last, first + size - 1)];
      first += size;
    }
  }
}

/** Converts a row as the drivers return it: Postgres gives 64-bit integers as text. */
export const toStoredRow = (row: SqlRow): StoredRow =>
  ({ ...row, id: Number(row.id), sequence: Number(row.sequence) }) as unknown as StoredRow;
