import { type Clock, steadyClock } from '../../../core/time.ts';
import type { StatementOptions } from '../database.ts';
import { plainMysqlName, SHADOWED_NAMES } from './mysql-functions.ts';
import { type MysqlHandle, readMysql } from './read-mysql.ts';
import { mysqlNamesIn } from './roll-back-mysql.ts';
import type { MysqlStatement } from './split-mysql-statement.ts';

const LIFETIME_MS = 60_000;
const NONE: ReadonlySet<string> = new Set();
const LIMITS = { maxRows: 10_000, maxBytes: 1024 ** 2 };
// Without a schema, servers look for stored functions in the default one.
const LIST = `SELECT ROUTINE_NAME FROM information_schema.ROUTINES WHERE ROUTINE_TYPE = 'FUNCTION'
  AND ROUTINE_SCHEMA = DATABASE() AND ROUTINE_NAME IN (${[...SHADOWED_NAMES].map((name) => `'${name}'`).join(', ')})`;

/** Returns a function that runs a check with the stored functions of the server. They are read once a minute. */
export function withStoredFunctions(handle: MysqlHandle, clock: Clock = steadyClock) {
  let names = NONE;
  let readAt = Number.NEGATIVE_INFINITY;
  return async <T>(check: (storedFunctions: ReadonlySet<string>) => T, options: StatementOptions): Promise<T> => {
    const now = clock();
    if (now - readAt < LIFETIME_MS) return check(names);
    // First without: nothing is sent for a statement that is refused anyway.
    check(NONE);
    const { rows } = await readMysql(handle, { sql: LIST, params: [] }, { ...options, ...LIMITS });
    names = new Set(rows.map(([name]) => plainMysqlName(String(name))));
    readAt = now;
    return check(names);
  };
}

/** Returns true if a statement may name a view: EXPLAIN may run the stored functions of a view. */
export async function mayNameView(
  handle: MysqlHandle,
  statement: MysqlStatement,
  options: StatementOptions,
): Promise<boolean> {
  const names = mysqlNamesIn(statement);
  if (names === undefined) return true;
  const list = names.map(() => '?').join(', ');
  const sql = `SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_TYPE = 'VIEW'
    AND (TABLE_SCHEMA = DATABASE() OR TABLE_SCHEMA IN (${list})) AND TABLE_NAME IN (${list})`;
  const { rows } = await readMysql(handle, { sql, params: [...names, ...names] }, { ...options, ...LIMITS });
  return rows[0]?.[0] !== 0;
}
