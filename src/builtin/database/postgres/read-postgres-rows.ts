import type { Duplex } from 'node:stream';
import type { FieldDef, PoolClient, QueryResult } from 'pg';
import type Cursor from 'pg-cursor';
import type { Json } from '../../../core/call.ts';
import { DatabaseFailure } from '../database-failure.ts';
import type { OpenTransaction } from './transaction.ts';
import { VALUE_TYPES } from './values.ts';

type Row = Json[];

/** A statement that has passed the checks, and the limits of its rows. */
export interface ReadRequest {
  readonly sql: string;
  readonly params: readonly (string | null)[];
  readonly maxRows: number;
  readonly maxBytes: number;
  /** `all` runs the statement to its end and counts the rows that exceed the limits. */
  readonly extent: 'limited' | 'all';
}

/** The rows of a statement within the limits. */
export interface PostgresRows {
  readonly fields: readonly FieldDef[];
  readonly rows: readonly (readonly Json[])[];
  readonly truncated: boolean;
  /** The rows that the server has sent. */
  readonly seen: number;
  /** The count in the tag of the statement, such as `UPDATE 3`. */
  readonly tagRows: number;
}

const BATCH_ROWS = 1_000;

/** Runs one statement by the extended protocol, which takes a single one, and reads its rows through a portal. */
export async function readPostgresRows(
  open: OpenTransaction,
  CursorClass: typeof Cursor,
  { sql, params, maxRows, maxBytes, extent }: ReadRequest,
): Promise<PostgresRows> {
  const { client } = open;
  const cursor = client.query(
    new CursorClass<Row>(sql, params as (string | null)[], { rowMode: 'array', types: VALUE_TYPES }),
  );
  const rows: Row[] = [];
  let seen = 0;
  const bytes = countBytes(client, extent, maxBytes);
  cursor.on('row', (row: Row) => {
    seen++;
    bytes.onRow();
    if (rows.length < maxRows && bytes.total() <= maxBytes) rows.push(row);
    else row.length = 0; // The cursor keeps the rows of a batch.
  });
  try {
    const result = await Promise.race([readBatches(cursor, maxRows, extent), bytes.exceeded]);
    const fields = result?.fields ?? bytes.fields();
    open.isAbandoned = result === undefined;
    if (!result && seen === 0) throw tooLarge(maxBytes);
    return { fields, rows, truncated: seen > rows.length || !result, seen, tagRows: result?.rowCount ?? 0 };
  } finally {
    bytes.stop();
  }
}

const tooLarge = (maxBytes: number): DatabaseFailure =>
  new DatabaseFailure(
    'STATEMENT_FAILED',
    `The first row has more than ${maxBytes} bytes. Select fewer columns, or a part of the value.`,
  );

async function readBatches(cursor: Cursor<Row>, maxRows: number, extent: 'limited' | 'all'): Promise<QueryResult> {
  if (extent === 'limited') {
    const { rows, result } = await readBatch(cursor, maxRows + 1);
    if (rows > maxRows) await cursor.close();
    return result;
  }
  for (;;) {
    const { rows, result } = await readBatch(cursor, BATCH_ROWS);
    if (rows < BATCH_ROWS) return result;
  }
}

function readBatch(
  cursor: Cursor<Row>,
  count: number,
): Promise<{ readonly rows: number; readonly result: QueryResult }> {
  return new Promise((resolve, reject) => {
    cursor.read(count, (error, rows, result) => {
      if (error) reject(error);
      else resolve({ rows: rows.length, result });
    });
  });
}

interface ByteCount {
  onRow(): void;
  total(): number;
  /**
   * Resolves when the server has sent too much: in all, or with `all` in one row. Rejects when the connection ends: a
   * cursor that waits for the last message of the server would wait for ever.
   */
  readonly exceeded: Promise<undefined>;
  fields(): readonly FieldDef[];
  stop(): void;
}

/** Counts what the server sends. A single row could fill the memory, so rows are not the measure. */
function countBytes(client: PoolClient, extent: 'limited' | 'all', maxBytes: number): ByteCount {
  const { connection } = client as unknown as {
    readonly connection: NodeJS.EventEmitter & { readonly stream: Duplex };
  };
  const { stream } = connection;
  let total = 0;
  let sinceRow = 0;
  let fields: readonly FieldDef[] = [];
  const { promise: exceeded, resolve, reject } = Promise.withResolvers<undefined>();
  const onLoss = () => reject(new Error('The connection ended.'));
  const onData = (chunk: Buffer) => {
    total += chunk.length;
    sinceRow += chunk.length;
    if ((extent === 'all' ? sinceRow : total) > maxBytes) resolve(undefined);
  };
  const onFields = (message: { readonly fields: readonly FieldDef[] }) => {
    fields = message.fields;
  };
  // Before the parser, so that a row knows the bytes it came with.
  stream.prependListener('data', onData);
  connection.on('rowDescription', onFields);
  connection.on('end', onLoss);
  exceeded.catch(() => undefined);
  return {
    onRow() {
      sinceRow = 0;
    },
    total: () => total,
    exceeded,
    fields: () => fields,
    stop() {
      stream.removeListener('data', onData);
      connection.removeListener('rowDescription', onFields);
      connection.removeListener('end', onLoss);
    },
  };
}
