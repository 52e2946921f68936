import type { SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite';
import type { Json } from '../../../core/call.ts';
import type { ChildResult, ChildStatement } from './child-messages.ts';

type Row = readonly SQLOutputValue[];

/** Runs a prepared statement and reads its rows, until a limit is reached. */
export function readSqliteRows(prepared: StatementSync, statement: ChildStatement): Omit<ChildResult, 'affectedRows'> {
  const { named, values, maxRows, maxBytes } = statement;
  const bound = Object.fromEntries(Object.entries(named).map(([name, value]) => [name, toBound(value)]));
  const rows: Json[][] = [];
  const classes: string[] = [];
  let bytes = 0;
  let truncated = false;
  // Leaving the loop resets the statement.
  for (const found of prepared.iterate(bound, ...values.map(toBound))) {
    const row = found as unknown as Row;
    bytes += roughSizeOf(row);
    const values = rows.length < maxRows && bytes <= maxBytes ? row.map(toJson) : undefined;
    // The exact size: escapes make text longer.
    if (values) bytes += Math.max(0, Buffer.byteLength(JSON.stringify(values)) - roughSizeOf(row));
    truncated = values === undefined || bytes > maxBytes;
    if (truncated || !values) break;
    for (const [index, value] of row.entries()) if (value !== null) classes[index] ??= storageClassOf(value);
    rows.push(values);
  }
  const columns = prepared.columns().map(({ name, type }, index) => ({ name, type: type ?? classes[index] ?? 'null' }));
  return { columns, rows, truncated };
}

/** Binds an integer as one: SQLite would store a JavaScript number as a real. */
function toBound(value: Json): SQLInputValue {
  if (typeof value === 'number') return Number.isSafeInteger(value) && !Object.is(value, -0) ? BigInt(value) : value;
  if (typeof value === 'boolean') return value ? 1n : 0n;
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : value;
}

function toJson(value: SQLOutputValue): Json {
  if (typeof value === 'bigint') {
    const number = Number(value);
    return Number.isSafeInteger(number) ? number : value.toString();
  }
  if (typeof value === 'number') return toJsonNumber(value);
  if (typeof value === 'string' || value === null) return value;
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64');
}

/** Returns a number that JSON can hold; the infinities and -0.0 as SQLite prints them. */
function toJsonNumber(value: number): Json {
  if (value === Number.POSITIVE_INFINITY) return 'Inf';
  if (value === Number.NEGATIVE_INFINITY) return '-Inf';
  return Object.is(value, -0) ? '-0.0' : value;
}

function storageClassOf(value: NonNullable<SQLOutputValue>): string {
  if (typeof value === 'bigint') return 'integer';
  if (typeof value === 'number') return 'real';
  return typeof value === 'string' ? 'text' : 'blob';
}

/** Returns a lower bound of the size as JSON, without converting anything. */
function roughSizeOf(row: Row): number {
  let size = 2;
  for (const value of row) {
    size += 1;
    if (typeof value === 'string') size += value.length;
    else if (typeof value === 'object' && value !== null) size += value.byteLength;
  }
  return size;
}
