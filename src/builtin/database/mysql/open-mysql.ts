import { realTimer, type Timer } from '../../../core/time.ts';
import type {
  ConnectionOptions,
  Database,
  RowSet,
  Statement,
  StatementOptions,
  TableColumn,
  TableEntry,
  TableName,
} from '../database.ts';
import { DatabaseFailure } from '../database-failure.ts';
import { startDeadline } from '../deadline.ts';
import { hidePasswordHash } from './check-mysql-grants.ts';
import { checkMysqlPlan, checkMysqlRead, type MysqlRead } from './check-mysql-read.ts';
import { checkMysqlWrite } from './check-mysql-write.ts';
import { executeMysql } from './execute-mysql.ts';
import { loadMysql } from './load-mysql.ts';
import { readMysqlAddress } from './mysql-address.ts';
import { explainMysqlLoss } from './mysql-failure.ts';
import { examineMysqlServer, sqlModeOf } from './mysql-server.ts';
import type { MysqlSession } from './mysql-session.ts';
import { MysqlSessions, openMysqlSession } from './mysql-sessions.ts';
import { previewMysql } from './preview-mysql.ts';
import { type MysqlHandle, readMysql } from './read-mysql.ts';
import type { MysqlRules } from './split-mysql-statement.ts';
import { mayNameView, withStoredFunctions } from './stored-functions.ts';

const OPEN_MS = 15_000;
/** Statements that some servers cannot prepare. */
const UNPREPARED = ['EXPLAIN', 'DESCRIBE', 'DESC', 'SHOW', 'CHECKSUM', 'ANALYZE'];

/** Opens a MySQL or MariaDB database and checks its user. */
export async function openMysql(
  connection: ConnectionOptions,
  signal: AbortSignal,
  timer: Timer = realTimer,
): Promise<Database> {
  const driver = await loadMysql(connection.name);
  const address = readMysqlAddress(connection);
  const deadline = startDeadline({ timeoutMs: OPEN_MS, signal }, timer);
  let session: MysqlSession | undefined;
  try {
    session = await openMysqlSession(driver, address, deadline);
    const server = await deadline.race(examineMysqlServer(session, connection));
    const handle = { connection: connection.name, address, server, sessions: new MysqlSessions(driver, address) };
    return database(handle, rulesOf(connection, handle));
  } catch (error) {
    if (signal.aborted)
      throw new DatabaseFailure('CANCELLED', `Opening the connection "${connection.name}" was cancelled.`);
    throw explainMysqlLoss(deadline.failure() ? { code: 'ETIMEDOUT' } : error, connection.name);
  } finally {
    deadline.clear();
    session?.destroy();
  }
}

const rulesOf = (connection: ConnectionOptions, { server }: MysqlHandle): MysqlRules => ({
  connection: connection.name,
  access: connection.access,
  allowDdl: connection.allowDdl,
  allowFunctions: new Set(connection.allowFunctions.map((name) => name.toUpperCase())),
  storedFunctions: new Set(),
  mode: sqlModeOf(server),
});

function database(handle: MysqlHandle, rules: MysqlRules): Database {
  const writable = <T>(run: () => Promise<T>): Promise<T> => {
    if (rules.access === 'readwrite') return run();
    const text = `The connection "${rules.connection}" has access "read". Set access to "readwrite" to permit writing.`;
    return Promise.reject(new DatabaseFailure('STATEMENT_REFUSED', text));
  };
  const checkWith = withStoredFunctions(handle);
  const checkWrite = (sql: string, options: StatementOptions) =>
    checkWith((storedFunctions) => checkMysqlWrite(sql, { ...rules, storedFunctions }), options);
  return {
    warnings: handle.server.warnings,
    async query({ sql, params }, options) {
      const checked = await checkWith((storedFunctions) => checkMysqlRead(sql, { ...rules, storedFunctions }), options);
      const found = await runRead(handle, checked, { statement: { sql: checked.sql, params }, options });
      return checked.showsGrants ? hideHashes(found) : found;
    },
    async explain({ sql, params }, options) {
      const checked = await checkWith((storedFunctions) => checkMysqlPlan(sql, { ...rules, storedFunctions }), options);
      const statement = { sql: `EXPLAIN ${checked.sql}`, params };
      return runRead(handle, { ...checked, verb: 'EXPLAIN' }, { statement, options });
    },
    listTables: (schema, options) => listMysqlTables(handle, schema, options),
    describeTable: (table, options) => describeMysqlTable(handle, table, options),
    execute: ({ sql, params }, options) =>
      writable(async () => {
        const checked = await checkWrite(sql, options);
        return executeMysql(handle, { statement: { sql: checked.sql, params }, checked, options });
      }),
    preview: ({ sql, params }, options) =>
      writable(async () => {
        const checked = await checkWrite(sql, options);
        return previewMysql(handle, { statement: { sql: checked.sql, params }, checked, options });
      }),
    close: () => handle.sessions.close(),
  };
}

interface Reading {
  readonly statement: Statement;
  readonly options: StatementOptions;
}

/** Runs a checked statement. The plan of a change needs a transaction that may write. */
async function runRead(handle: MysqlHandle, checked: MysqlRead, { statement, options }: Reading): Promise<RowSet> {
  const { plansChange: isWritable, verb } = checked;
  if (isWritable && (await mayNameView(handle, checked, options))) {
    const text =
      'The statement may use a view, whose functions EXPLAIN may run. Send it with the tables of the view instead.';
    throw new DatabaseFailure('STATEMENT_REFUSED', text);
  }
  return readMysql(handle, statement, { ...options, isWritable, allowsText: UNPREPARED.includes(verb) });
}

const hideHashes = (found: RowSet): RowSet => ({
  ...found,
  rows: found.rows.map((row) => row.map((value) => (typeof value === 'string' ? hidePasswordHash(value) : value))),
});

const LIST = `SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE FROM information_schema.TABLES
  WHERE TABLE_TYPE <> 'SEQUENCE' AND`;
const OF_SCHEMA = 'TABLE_SCHEMA = ?';
const NOT_OF_SYSTEM = "TABLE_SCHEMA NOT IN ('mysql', 'information_schema', 'performance_schema', 'sys')";

async function listMysqlTables(
  handle: MysqlHandle,
  schema: string | undefined,
  options: StatementOptions,
): Promise<readonly TableEntry[]> {
  const sql = `${LIST} ${schema === undefined ? NOT_OF_SYSTEM : OF_SCHEMA} ORDER BY 1, 2`;
  const { rows } = await readMysql(handle, { sql, params: schema === undefined ? [] : [schema] }, options);
  return rows.map(([table_schema, table_name, type]) => ({
    table_schema: String(table_schema),
    table_name: String(table_name),
    table_type: /VIEW/.test(String(type)) ? 'view' : 'table',
  }));
}

const DESCRIBE = `SELECT COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE, COLUMN_DEFAULT FROM information_schema.COLUMNS
  WHERE TABLE_SCHEMA = COALESCE(?, DATABASE()) AND TABLE_NAME = ? ORDER BY ORDINAL_POSITION`;

async function describeMysqlTable(
  handle: MysqlHandle,
  { schema, table }: TableName,
  options: StatementOptions,
): Promise<readonly TableColumn[] | undefined> {
  const { rows } = await readMysql(handle, { sql: DESCRIBE, params: [schema ?? null, table] }, options);
  if (rows.length === 0) return undefined;
  // MariaDB prints the absence of a default as the expression NULL.
  const isNone = (value: unknown) => value === null || (handle.server.isMariadb && value === 'NULL');
  return rows.map(([name, type, nullable, value]) => ({
    column_name: String(name),
    data_type: String(type),
    is_nullable: nullable === 'YES',
    column_default: isNone(value) ? null : String(value),
  }));
}
