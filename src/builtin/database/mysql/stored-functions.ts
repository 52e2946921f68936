import { type Clock, steadyClock } from '../../../core/time.ts';
import type { StatementOptions } from '../database.ts';
import { plainMysqlName, SHADOWED_NAMES } from './mysql-functions.ts';
import { type MysqlHandle, readMysql } from './read-mysql.ts';

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
