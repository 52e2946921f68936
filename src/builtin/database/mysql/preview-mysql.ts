import { DatabaseFailure, wrongParamCount } from '../database-failure.ts';
import type { MysqlChange } from './execute-mysql.ts';
import { mysqlErrorNumber } from './mysql-failure.ts';
import { type MysqlHandle, readMysql } from './read-mysql.ts';
import { mayNameView } from './stored-functions.ts';

/** Returns the estimate of a writing statement for its approver. The statement is not run. */
export async function previewMysql(handle: MysqlHandle, { statement, checked, options }: MysqlChange): Promise<string> {
  const { sql, params } = statement;
  if (params.length !== checked.parameters) throw wrongParamCount(checked.parameters, params.length);
  if (checked.isDefinition) return noEstimate('there is none for a definition, which commits at once');
  if (checked.callsStoredFunction) return noEstimate('it calls a stored function, which EXPLAIN may run');
  if (await mayNameView(handle, checked, options))
    return noEstimate('it may use a view, whose functions EXPLAIN may run');
  try {
    const plan = await readMysql(
      handle,
      { sql: `EXPLAIN ${sql}`, params },
      { ...options, isWritable: true, allowsText: true },
    );
    return describePlan(
      plan.columns.findIndex(({ name }) => name === 'rows'),
      plan.rows,
    );
  } catch (error) {
    if (error instanceof DatabaseFailure && error.code !== 'CANCELLED' && !isCertain(error))
      return noEstimate(error.message);
    throw error;
  }
}

/** Errors that the statement itself would get: unknown database, column or table, no privilege, no valid SQL. */
const CERTAIN: ReadonlySet<number | undefined> = new Set([1049, 1054, 1064, 1142, 1146]);

const isCertain = ({ cause }: DatabaseFailure): boolean => CERTAIN.has(mysqlErrorNumber(cause));

const noEstimate = (reason: string): string => `No estimate: ${reason.replace(/\.$/, '')}.`;

/** Multiplies the rows of the outer query's tables. The database gives an upper bound for each. */
function describePlan(at: number, rows: readonly (readonly unknown[])[]): string {
  const outer = rows.filter(([id]) => id === rows[0]?.[0]).map((row) => row[at]);
  const counts = outer.filter((count) => count !== null).map(Number);
  if (counts.length === 0) return noEstimate('the database gives none for this statement');
  const most = counts.reduce((product, count) => product * count, 1);
  return `At most ${most} rows, as the database estimates from its statistics.`;
}
