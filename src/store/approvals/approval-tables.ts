import { type RawSql, type SqlStatement, type Statements, sql } from '../statements.ts';

type ApprovalTable = 'approvals' | 'approval_calls' | 'approval_state' | 'standing_approvals' | 'spending';

/** The condition that an approval can still be decided or used. */
export const IS_OPEN: RawSql = { raw: `status IN ('pending', 'approved')` };

/** Returns the full name of a table of approvals or spending, for `sql`. */
export const approvalTable = ({ schema }: Statements, table: ApprovalTable): RawSql => ({ raw: `${schema}.${table}` });

/**
 * Counts a change. It is the first statement of each transaction on approvals: its row stays locked until the commit, so
 * that such transactions run one after another.
 */
export const countChange = (statements: Statements): SqlStatement =>
  sql`UPDATE ${approvalTable(statements, 'approval_state')} SET changes = changes + 1 WHERE id = 1`;

/** Returns the number of changes of approvals by all processes. */
export async function readChanges(statements: Statements): Promise<number> {
  const rows = await statements.read(
    sql`SELECT changes FROM ${approvalTable(statements, 'approval_state')} WHERE id = 1`,
  );
  return Number(rows[0]?.changes ?? 0);
}
