import { type RawSql, type SqlStatement, type Statements, sql } from '../statements.ts';

type RunTable =
  | 'runs'
  | 'run_entries'
  | 'run_values'
  | 'run_value_uses'
  | 'run_signals'
  | 'run_state'
  | 'leases'
  | 'vault_state';

/** Returns the full name of a table of runs, for `sql`. */
export const runTable = ({ schema }: Pick<Statements, 'schema'>, table: RunTable): RawSql => ({
  raw: `${schema}.${table}`,
});

/**
 * Counts a change that other processes have to see. It is the last statement of its transaction: its row stays locked
 * until the commit, and every signal and every end of a run needs it.
 */
export const countRunChange = (statements: Pick<Statements, 'schema'>): SqlStatement =>
  sql`UPDATE ${runTable(statements, 'run_state')} SET changes = changes + 1 WHERE id = 1`;

/** Returns the number of signals and ended runs of all processes. */
export async function readRunChanges(statements: Statements): Promise<number> {
  const rows = await statements.read(sql`SELECT changes FROM ${runTable(statements, 'run_state')} WHERE id = 1`);
  return Number(rows[0]?.changes ?? 0);
}

/** Joins parts of a statement with commas. */
export const listed = (parts: readonly SqlStatement[]): SqlStatement => ({
  sql: parts.map((part) => part.sql).join(', '),
  values: parts.flatMap((part) => part.values),
});

/** Returns a list of values, for `IN (…)`. */
export const valuesIn = (values: readonly string[]): SqlStatement => ({
  sql: `(${values.map(() => '?').join(', ') || 'NULL'})`,
  values,
});
