import type { SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite';
import type { Json } from '../../../core/call.ts';
import { cutColumn } from '../row-objects.ts';
import type { ChildResult, ChildStatement } from './child-messages.ts';

type Row = readonly SQLOutputValue[];

/** Runs a prepared statement and reads its rows, until a limit is reached. */
export function readSqliteRows(prepared: StatementSync, statement: ChildStatement): Omit<ChildResult, 'affectedRows'> {
  const { named, values, maxRows, maxBytes } = statement;
  const bound = Object.fromEntries(Object.entries(named).map(([name, value]) => [name, toBound(value)]));
  const rows: Json[][] = [];
  const classes: string[] = [];
  const fits = sizeLimit(maxBytes);
  let truncated = false;
  // Leaving the loop resets the statement.
  for (const found of prepared.iterate(bound, ...values.map(toBound))) {
    const row = found as unknown as Row;
    const converted = rows.length < maxRows && leastBytesOf(row) <= maxBytes ? row.map(toJson) : undefined;
    truncated = converted === undefined || !fits(rows, converted);
    if (truncated || !converted) break;
    for (const [index, value] of row.entries()) if (value !== null) classes[index] ??= storageClassOf(value);
    rows.push(converted);
  }
  const columns = prepared
    .columns()
    .map(({ name, type }, index) => cutColumn({ name, type: type ?? classes[index] ?? 'null' }));
  return { columns, rows, truncated };
}

/** Binds an integer as one: SQLite would store a JavaScript number as a real. */
function toBound(value: Json): SQLInputValue {
  if (typeof value === 'number') return Number.isSafeInteger(value) && !Object.is(value, -0) ? BigInt(value) : value;
  if (typeof value === 'boolean') return value ? 1n : 0n;
  return value as string | null; // The parent has written arrays and objects as text.
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
function leastBytesOf(row: Row): number {
  let size = 0;
  for (const value of row) {
    if (typeof value === 'string') size += value.length;
    else if (typeof value === 'object' && value !== null) size += value.byteLength;
  }
  return size;
}

/** Returns a test whether rows and one more stay within a size as JSON. It measures only when they come near it. */
function sizeLimit(maxBytes: number): (rows: readonly Json[][], next: Json[]) => boolean {
  let most = 0;
  let exact: number | undefined;
  return (rows, next) => {
    for (const value of next) most += typeof value === 'string' ? value.length * LONGEST_ESCAPE + 3 : LONGEST_NUMBER;
    most += 3;
    if (most <= maxBytes) return true;
    exact = (exact ?? (rows.length === 0 ? 0 : sizeOf(rows))) + sizeOf(next) + 1;
    return exact - 1 <= maxBytes;
  };
}

/** The bytes of an escaped character in JSON, such as `\u0001`. */
const LONGEST_ESCAPE = 6;
/** The bytes of a number in JSON, such as -1.2345678901234567e-300, and a comma. */
const LONGEST_NUMBER = 26;

const sizeOf = (value: Json | readonly Json[][]): number => Buffer.byteLength(JSON.stringify(value));
