import type { ConnectionOptions, StatementOptions } from '../database.ts';
import { DatabaseFailure } from '../database-failure.ts';
import { checkMysqlGrants } from './check-mysql-grants.ts';
import type { MysqlSession } from './mysql-session.ts';
import type { SqlMode } from './tokenize-mysql.ts';

/** The server behind a connection, as the first session saw it. */
export interface MysqlServer {
  readonly isMariadb: boolean;
  /** The value for `sql_mode` of every session. */
  readonly sqlMode: string;
  readonly warnings: readonly string[];
}

// Modes that change the grammar beyond quotes.
const OTHER_GRAMMARS = new Set(['ORACLE', 'MSSQL', 'DB2', 'MAXDB', 'POSTGRESQL']);

/** Reads version, mode and grants. Throws a `DatabaseFailure` if the user may do too much. */
export async function examineMysqlServer(session: MysqlSession, connection: ConnectionOptions): Promise<MysqlServer> {
  const [version, mode] = (await rowsOf(session, 'SELECT VERSION(), @@sql_mode'))[0] ?? [];
  const isMariadb = /mariadb/i.test(version ?? '');
  return {
    isMariadb,
    // Built-in functions win over stored ones also before a blank and a parenthesis.
    sqlMode: [...new Set([...(mode ?? '').split(','), 'IGNORE_SPACE'])]
      .filter((name) => /^[A-Z_]+$/.test(name) && !OTHER_GRAMMARS.has(name))
      .join(','),
    warnings: checkRole(await grantsOf(session, isMariadb), connection),
  };
}

export const sqlModeOf = ({ sqlMode }: MysqlServer): SqlMode => {
  const names = sqlMode.split(',');
  return { ansiQuotes: names.includes('ANSI_QUOTES'), noBackslashEscapes: names.includes('NO_BACKSLASH_ESCAPES') };
};

async function rowsOf(session: MysqlSession, sql: string): Promise<readonly (readonly (string | null)[])[]> {
  return (await session.run(sql)) as readonly (readonly (string | null)[])[];
}

/** Returns the lines of SHOW GRANTS with those of the active roles. MySQL leaves the roles out unless they are named. */
async function grantsOf(session: MysqlSession, isMariadb: boolean): Promise<readonly string[]> {
  const shown = await rowsOf(session, 'SHOW GRANTS');
  const lines = shown.map(([line]) => line ?? '');
  if (isMariadb || !lines.some((line) => /^GRANT `/.test(line))) return lines;
  const [[roles = 'NONE'] = []] = await rowsOf(session, 'SELECT CURRENT_ROLE()');
  if (roles === null || roles === 'NONE') return lines;
  return (await rowsOf(session, `SHOW GRANTS FOR CURRENT_USER() USING ${roles}`)).map(([line]) => line ?? '');
}

function checkRole(lines: readonly string[], connection: ConnectionOptions): readonly string[] {
  const { privileged, canWrite } = checkMysqlGrants(lines);
  const names = privileged.slice(0, 10).join(', ');
  if (privileged.length > 0 && !connection.allowPrivilegedRole) {
    throw new DatabaseFailure(
      'CONNECTION_FAILED',
      `The connection "${connection.name}" is refused: its user may do too much (${names}). Use a user with SELECT only, or set allowPrivilegedRole.`,
    );
  }
  const warnings: string[] = [];
  if (privileged.length > 0)
    warnings.push(`The user of "${connection.name}" has ${names}; allowPrivilegedRole permits it.`);
  if (canWrite && connection.access === 'read') {
    warnings.push(
      `The user of "${connection.name}" can write, although access is "read". Use a user with SELECT only.`,
    );
  }
  return warnings;
}

/** Returns the SET for a call: character set, mode and limits of time and rows. */
export function mysqlSettings(server: MysqlServer, { timeoutMs }: StatementOptions, maxRows?: number): string {
  const seconds = Math.max(1, Math.ceil(timeoutMs / 1000));
  const settings = [
    'NAMES utf8mb4',
    `SESSION sql_mode = '${server.sqlMode}'`,
    `SESSION completion_type = 0`,
    `SESSION lock_wait_timeout = ${seconds}`,
    `SESSION innodb_lock_wait_timeout = ${seconds}`,
    `SESSION sql_select_limit = ${maxRows === undefined ? 'DEFAULT' : maxRows + 1}`,
    ...(server.isMariadb
      ? [`SESSION max_statement_time = ${timeoutMs / 1000}`, `SESSION idle_transaction_timeout = ${seconds + 60}`]
      : [`SESSION max_execution_time = ${Math.max(1, Math.round(timeoutMs))}`]),
  ];
  return `SET ${settings.join(', ')}`;
}
