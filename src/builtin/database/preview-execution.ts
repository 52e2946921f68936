import type { Json, JsonObject } from '../../core/call.ts';
import type { CallPreview } from '../../core/records/call-preview.ts';
import { cutText } from '../../core/text/cut-text.ts';
import { ToolFailure } from '../tool-failure.ts';
import type { Connections } from './connections.ts';
import type { ConnectionOptions, Database, Statement } from './database.ts';
import { DatabaseFailure } from './database-failure.ts';
import { readExecution } from './execute.ts';
import { MAX_RESULT_BYTES } from './run-on.ts';

// An approver does not wait longer for an estimate.
const ESTIMATE_MS = 2000;
const OPEN_MS = 15_000;
const NEVER = new AbortController().signal;
const MAX_SHOWN_PARAMS = 100;
const MAX_SHOWN_CHARS = 500;

/** Checks a call of `db_execute` and describes it: the exact SQL, the parameters, the estimate of the database. */
export async function previewExecution(
  connections: Connections,
  input: JsonObject,
  signal: AbortSignal,
): Promise<CallPreview> {
  try {
    const { connection, statement } = readExecution(input, connections);
    const estimate = await estimateOf(connections, { connection, statement }, signal);
    return { text: textOf(connection, statement, estimate) };
  } catch (thrown) {
    if (thrown instanceof ToolFailure) return { refused: thrown.message };
    throw thrown;
  }
}

interface Execution {
  readonly connection: ConnectionOptions;
  readonly statement: Statement;
}

/** Throws if the database does not open in time: a statement that was not checked reaches no approver. */
async function estimateOf(
  connections: Connections,
  { connection: { name }, statement }: Execution,
  signal: AbortSignal,
): Promise<string> {
  const { promise: unopened, reject } = Promise.withResolvers<never>();
  let isOpen = false;
  const giveUp = () => void (isOpen || reject(notOpen(name)));
  // The opening goes on without this call: the next one finds the database open.
  const estimate = connections.use(name, { signal: NEVER, timeoutMs: OPEN_MS }, (database) => {
    isOpen = true;
    return estimateIn(database, statement, signal);
  });
  estimate.catch(() => {}); // Reported by the race, unless this call has given up.
  signal.addEventListener('abort', giveUp, { once: true });
  if (signal.aborted) giveUp();
  try {
    return await Promise.race([estimate, unopened]);
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
}

async function estimateIn(database: Database, statement: Statement, signal: AbortSignal): Promise<string> {
  try {
    const limits = { maxRows: 1, maxBytes: MAX_RESULT_BYTES, timeoutMs: ESTIMATE_MS, signal };
    return await database.preview(statement, limits);
  } catch (thrown) {
    // The statement is checked again when it runs.
    const isLate = thrown instanceof DatabaseFailure && (thrown.code === 'TIMED_OUT' || thrown.code === 'CANCELLED');
    if (isLate) return `No estimate: the database has not answered within ${ESTIMATE_MS / 1000} s.`;
    throw thrown;
  }
}

const notOpen = (name: string): DatabaseFailure =>
  new DatabaseFailure(
    'TIMED_OUT',
    `The connection ${name} is still opening, so the statement was not checked. Call again.`,
  );

function textOf({ name, type }: ConnectionOptions, { sql, params }: Statement, estimate: string): string {
  const shown = params.slice(0, MAX_SHOWN_PARAMS).map((value: Json, at) => {
    return `  ${at + 1}: ${cutText(JSON.stringify(value), MAX_SHOWN_CHARS)}`;
  });
  const more = params.length - shown.length;
  const parameters = [
    ...(shown.length > 0 ? ['Parameters:', ...shown] : ['No parameters.']),
    ...(more > 0 ? [`  and ${more} more, see the arguments`] : []),
  ];
  // Indented: a line of the statement must not look like an estimate.
  const lines = sql.split('\n').map((line) => `  ${line}`);
  return [`Connection: ${name} (${type})`, 'SQL:', ...lines, ...parameters, estimate].join('\n');
}
