import type { MysqlWrite } from './check-mysql-write.ts';
import type { MysqlSession } from './mysql-session.ts';
import type { MysqlStatement } from './split-mysql-statement.ts';

const CHANGES_STAYED = 1196;
const MAX_NAMES = 100;
const ONE_ROW = { maxRows: 1, maxBytes: 1024, endsAtLimit: false, allowsText: false };

/** Rolls back. Returns false if the server warns that changes stayed: MyISAM and Aria cannot roll back. */
export async function rollBack(session: MysqlSession): Promise<boolean> {
  const { warningStatus } = (await session.run('ROLLBACK')) as { readonly warningStatus: number };
  if (warningStatus === 0) return true;
  const warnings = (await session.run('SHOW WARNINGS')) as readonly (readonly unknown[])[];
  return !warnings.some(([, code]) => Number(code) === CHANGES_STAYED);
}

/**
 * Returns true if a lost connection certainly undoes a statement: every table that it may name has a transactional
 * engine, and no trigger. Views and stored functions may change other tables.
 */
export async function canRollBack(session: MysqlSession, checked: MysqlWrite): Promise<boolean> {
  if (checked.callsStoredFunction) return false;
  const names = mysqlNamesIn(checked);
  if (names === undefined) return false;
  const list = names.map(() => '?').join(', ');
  const inSchemas = (column: string) => `(${column} = DATABASE() OR ${column} IN (${list}))`;
  const sql = `SELECT
    (SELECT COUNT(*) FROM information_schema.TABLES WHERE ${inSchemas('TABLE_SCHEMA')} AND TABLE_NAME IN (${list})
      AND COALESCE(ENGINE, '') NOT IN (SELECT ENGINE FROM information_schema.ENGINES WHERE TRANSACTIONS = 'YES')) +
    (SELECT COUNT(*) FROM information_schema.TRIGGERS
      WHERE ${inSchemas('TRIGGER_SCHEMA')} AND EVENT_OBJECT_TABLE IN (${list}))`;
  const { rows } = await session.execute({ sql, params: [...names, ...names, ...names, ...names] }, ONE_ROW);
  return rows[0]?.[0] === 0;
}

/** Returns the words and names of a statement; undefined if there are too many to look them up. */
export function mysqlNamesIn({ tokens, sql }: MysqlStatement): readonly string[] | undefined {
  const names = [...new Set(tokens.flatMap((token) => nameOf(token, sql)))];
  return names.length > MAX_NAMES ? undefined : names;
}

function nameOf({ kind, text, start, end }: MysqlWrite['tokens'][number], sql: string): readonly string[] {
  if (kind === 'name') return [text];
  return kind === 'word' ? [sql.slice(start, end)] : [];
}
