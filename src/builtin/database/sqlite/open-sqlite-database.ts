import { isAbsolute } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cutAndEscape } from '../../../core/text/cut-text.ts';
import type {
  ConnectionOptions,
  Database,
  RowSet,
  Statement,
  StatementOptions,
  TableColumn,
  TableEntry,
} from '../database.ts';
import { DatabaseFailure } from '../database-failure.ts';
import { checkSqliteStatement, type StatementPurpose } from './check-sqlite-statement.ts';
import type { ChildGrant, ChildRequest, ChildResult } from './child-messages.ts';
import type { ChildPoolOptions } from './child-pool.ts';
import { sqliteChildren } from './sqlite-children.ts';

const OPEN_MS = 30_000;
const MAX_REQUEST_BYTES = 32 * 1024 * 1024;
const LONGEST_MESSAGE = 2000;
/** The part of the timeout that a locked database is waited for, so that its error arrives before the timeout. */
const BUSY_PART = 0.5;

const TABLES = `SELECT schema, name, type FROM pragma_table_list
WHERE schema = 'main' AND type IN ('table', 'view', 'virtual') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name`;
const COLUMNS = `SELECT name, type, "notnull", dflt_value, pk FROM pragma_table_xinfo(?, 'main') WHERE hidden <> 1 ORDER BY cid`;
const FIND_TABLE = `SELECT name FROM pragma_table_list WHERE schema = 'main' AND name = ? COLLATE NOCASE AND type <> 'shadow'`;

/** Opens an SQLite file. Statements run in child processes, because they block and only SIGKILL ends them in time. */
export async function openSqliteDatabase(
  connection: ConnectionOptions,
  signal: AbortSignal,
  options: ChildPoolOptions,
): Promise<Database> {
  const file = fileOf(connection);
  const children = sqliteChildren(options);
  const mayRecover = connection.access === 'readwrite';

  async function run(request: ChildWork, limits: Pick<StatementOptions, 'timeoutMs' | 'signal'>): Promise<ChildResult> {
    const busyMs = Math.floor(limits.timeoutMs * BUSY_PART);
    try {
      return await children.run({ ...request, file, mayRecover, busyMs }, limits);
    } catch (thrown) {
      throw thrown instanceof DatabaseFailure ? located(thrown, connection) : thrown;
    }
  }

  async function read(sql: string, values: readonly string[], limits: StatementOptions): Promise<ChildResult['rows']> {
    const statement = { sql, isPlan: false, values, named: {}, grant: 'read' as const };
    return (await run({ kind: 'query', ...statement, maxRows: MOST_NAMES, maxBytes: limits.maxBytes }, limits)).rows;
  }

  async function runStatement(
    statement: Statement,
    purpose: StatementPurpose,
    limits: StatementOptions,
  ): Promise<ChildResult> {
    const { verb, isExplain, sql, ...values } = checkSqliteStatement(statement, connection, purpose);
    requireSize(statement);
    const { maxRows, maxBytes } = limits;
    const isPlan = purpose === 'explain' && !isExplain;
    return run(
      {
        kind: purpose === 'write' ? 'execute' : 'query',
        ...{ sql, isPlan, ...values, grant: grantOf(verb), maxRows, maxBytes },
      },
      limits,
    );
  }

  try {
    await run({ kind: 'check' }, { timeoutMs: OPEN_MS, signal });
  } catch (thrown) {
    await children.close();
    throw thrown;
  }
  return {
    warnings: [],
    query: async (statement, limits) => rowsOf(await runStatement(statement, 'read', limits)),
    explain: async (statement, limits) => rowsOf(await runStatement(statement, 'explain', limits)),
    execute: (statement, limits) => runStatement(statement, 'write', limits),
    async preview(statement, limits) {
      checkSqliteStatement(statement, connection, 'write');
      const { rows } = await runStatement(statement, 'explain', limits);
      const plan = rows.map((row) => `  ${cutAndEscape(String(row.at(-1)), LONGEST_MESSAGE)}`).join('\n');
      return `no estimate: SQLite does not estimate rows.${plan && `\nPlan:\n${plan}`}`;
    },
    async listTables(schema, limits) {
      if (schema !== undefined && schema.toLowerCase() !== 'main') return [];
      return (await read(TABLES, [], limits)).map(
        ([table_schema, table_name, type]): TableEntry => ({
          table_schema: String(table_schema),
          table_name: String(table_name),
          table_type: type === 'view' ? 'view' : 'table',
        }),
      );
    },
    async describeTable({ schema, table }, limits) {
      if (schema !== undefined && schema.toLowerCase() !== 'main') return undefined;
      const [found] = await read(FIND_TABLE, [table], limits);
      if (!found) return undefined;
      const columns = await read(COLUMNS, [String(found[0])], limits);
      const keys = columns.filter(([, , , , key]) => key !== 0);
      return columns.map((row) => toColumn(row, keys.length === 1 && isRowId(row)));
    },
    close: () => children.close(),
  };
}

type ChildWork = ChildRequest extends infer Request
  ? Request extends ChildRequest
    ? Omit<Request, 'file' | 'mayRecover' | 'busyMs'>
    : never
  : never;

const MOST_NAMES = 100_000;

const rowsOf = ({ columns, rows, truncated }: ChildResult): RowSet => ({ columns, rows, truncated });

type Row = ChildResult['rows'][number];

/** Tests for an INTEGER PRIMARY KEY, which is never NULL. Other keys may be. */
const isRowId = ([, type, , , key]: Row): boolean => key === 1 && String(type).toUpperCase() === 'INTEGER';

const toColumn = ([name, type, notNull, defaultValue]: Row, isNeverNull: boolean): TableColumn => ({
  column_name: String(name),
  data_type: String(type ?? ''),
  is_nullable: notNull === 0 && !isNeverNull,
  column_default: typeof defaultValue === 'string' ? defaultValue : null,
});

function grantOf(verb: string): ChildGrant {
  if (verb === 'CREATE' || verb === 'ALTER' || verb === 'DROP') return verb;
  return verb === 'SELECT' || verb === 'VALUES' || verb === 'PRAGMA' ? 'read' : 'write';
}

/** Returns the path of the file: `database`, or `url` as `sqlite:///path` or `file:///path`. */
function fileOf({ name, database, url }: ConnectionOptions): string {
  const path = url === undefined ? database : pathOf(url);
  if (path !== undefined && isAbsolute(path) && !path.includes('\0')) return path;
  const fix = 'Set "database" to the absolute path of the file, or "url" to sqlite:///path';
  throw new DatabaseFailure('CONNECTION_FAILED', `The connection "${name}" names no database file. ${fix}.`);
}

function pathOf(url: string): string | undefined {
  try {
    return fileURLToPath(url.replace(/^sqlite:/i, 'file:'));
  } catch {
    return undefined;
  }
}

function requireSize({ params }: Statement): void {
  if (JSON.stringify(params).length <= MAX_REQUEST_BYTES) return;
  throw new DatabaseFailure('INPUT_INVALID', `"params" has more than ${MAX_REQUEST_BYTES} bytes. Send less at once.`);
}

/** Adds the connection. Text of the database is shortened and its control characters are escaped. */
function located({ code, message }: DatabaseFailure, { name, access }: ConnectionOptions): DatabaseFailure {
  const text = cutAndEscape(message, LONGEST_MESSAGE);
  const where = code === 'STATEMENT_REFUSED' ? `Connection "${name}" (access "${access}")` : `Connection "${name}"`;
  return new DatabaseFailure(code, `${where}: ${text}`);
}
