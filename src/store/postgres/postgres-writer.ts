import type { Pool } from 'pg';
import type { WriteBatch } from '../audit/write-queue.ts';
import type { SealedRow, SpanRow } from '../tables.ts';
import { inTransaction } from './in-transaction.ts';
import { SCHEMA } from './load-queries.ts';

/** Columns with the SQL type of the array that carries their values. */
type Columns<Row> = readonly (readonly [keyof Row & string, 'text' | 'integer' | 'double precision'])[];

const RECORD_COLUMNS: Columns<SealedRow> = [
  ['segment', 'text'],
  ['sequence', 'integer'],
  ['hash', 'text'],
  ['link', 'text'],
  ['call_id', 'text'],
  ['phase', 'text'],
  ['at', 'double precision'],
  ['caller', 'text'],
  ['via', 'text'],
  ['name', 'text'],
  ['detail', 'text'],
];

const SPAN_COLUMNS: Columns<SpanRow> = [
  ['trace_id', 'text'],
  ['span_id', 'text'],
  ['parent_id', 'text'],
  ['name', 'text'],
  ['server', 'text'],
  ['started_at', 'double precision'],
  ['duration_ms', 'double precision'],
  ['outcome', 'text'],
  ['attributes', 'text'],
  ['agent', 'text'],
];

/** Waits for the disk where the server would not. A stricter setting of the server stays. */
const WAIT_FOR_DISK =
  "SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off'";

/** Commits a batch with one INSERT per table in one transaction. */
export function postgresWriter(pool: Pool, waitsForDisk = false): WriteBatch {
  return ({ records, spans, journal }) =>
    inTransaction(pool, async (client) => {
      if (waitsForDisk) await client.query(WAIT_FOR_DISK);
      if (journal) await (await import('./postgres-journal-writer.ts')).writeJournal(client, journal);
      if (records.length > 0) await client.query(insertOf('audit', RECORD_COLUMNS, records));
      if (spans.length > 0) await client.query(insertOf('spans', SPAN_COLUMNS, spans));
    });
}

// Each column is one array parameter: a VALUES list would exceed the limit of 65 535 parameters.
function insertOf<Row>(table: string, columns: Columns<Row>, rows: readonly Row[]) {
  const names = columns.map(([name]) => name).join(', ');
  const arrays = columns.map(([, type], index) => `$${index + 1}::${type}[]`).join(', ');
  return {
    text: `INSERT INTO ${SCHEMA}.${table} (${names}) SELECT * FROM unnest(${arrays})`,
    values: columns.map(([name]) => rows.map((row) => row[name])),
  };
}
