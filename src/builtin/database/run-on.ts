import type { JsonObject } from '../../core/call.ts';
import { type Clock, steadyClock } from '../../core/time.ts';
import { structured } from '../serve-tools.ts';
import type { Connections } from './connections.ts';
import type { Database, RowSet, StatementOptions } from './database.ts';
import { toRowObjects } from './row-objects.ts';

/** The most bytes of rows that one call returns. */
export const MAX_RESULT_BYTES = 5 * 1024 * 1024;

/** The parts that the database tools share. */
export interface ToolOptions {
  readonly connections: Connections;
  /** The longest time of one statement, and of the opening of its database. */
  readonly queryTimeoutMs: number;
  /** The most rows that one call returns. */
  readonly maxRows: number;
  readonly clock?: Clock;
}

interface RunRequest {
  readonly connection: string;
  readonly maxRows?: number;
  readonly signal: AbortSignal;
}

type Work<T> = (database: Database, options: StatementOptions) => Promise<T>;

// The part of the opening that does not shorten the statement. Both end before the deadline of the call.
const FREE_OPENING_MS = 1500;

/** Runs work on a connection. A slow opening shortens the time of the work. */
export async function runOn<T>(tools: ToolOptions, request: RunRequest, work: Work<T>): Promise<T> {
  const { connections, queryTimeoutMs, clock = steadyClock } = tools;
  const { connection, maxRows = tools.maxRows, signal } = request;
  const startedAt = clock();
  return connections.use(connection, { signal, timeoutMs: queryTimeoutMs }, (database) => {
    const lateMs = Math.max(0, clock() - startedAt - FREE_OPENING_MS);
    const timeoutMs = Math.max(1, Math.ceil(queryTimeoutMs - lateMs));
    return work(database, { maxRows, maxBytes: MAX_RESULT_BYTES, timeoutMs, signal });
  });
}

/** Runs a statement and returns its rows as the result of a tool, with the time it took. */
export async function rowsOn(tools: ToolOptions, request: RunRequest, work: Work<RowSet>): Promise<JsonObject> {
  const { clock = steadyClock } = tools;
  const startedAt = clock();
  const found = await runOn(tools, request, work);
  const { rows, columns, truncated } = toRowObjects(found, MAX_RESULT_BYTES);
  const durationMs = Math.round(clock() - startedAt);
  const affected = 'affectedRows' in found ? { affectedRows: Number(found.affectedRows) } : {};
  const value = { ...affected, rows, rowCount: rows.length, truncated, columns: columns.map(asJson), durationMs };
  return structured(value);
}

const asJson = ({ name, type }: RowSet['columns'][number]): JsonObject => ({ name, type });

/** The schema of results with rows. */
export const ROWS_SCHEMA = {
  rows: {
    type: 'array',
    items: { type: 'object' },
    description: 'Rows by column name. A repeated name gets a number.',
  },
  rowCount: { type: 'integer', minimum: 0, description: 'The number of returned rows.' },
  truncated: {
    type: 'boolean',
    description: 'True when there are more rows: select fewer, or continue after the last one.',
  },
  columns: {
    type: 'array',
    items: {
      type: 'object',
      properties: { name: { type: 'string' }, type: { type: 'string', description: 'As the database names it.' } },
      required: ['name', 'type'],
    },
  },
  durationMs: { type: 'integer', minimum: 0 },
} as const;
