import { BoundedMap } from '../../../../core/bounded-map.ts';
import type { ConnectionOptions, Statement } from '../../database.ts';
import { toParams } from '../values.ts';
import { checkPostgresStatement, type PostgresStatement } from './check-postgres-statement.ts';
import { functionAllower, refuseDangerous } from './function-check.ts';
import { parsePostgres } from './parse-postgres.ts';
import type { StatementRules } from './refusal.ts';

/** A statement whose syntax and parameters are checked. */
export interface PreparedStatement {
  readonly checked: PostgresStatement;
  readonly rules: StatementRules;
  readonly params: readonly (string | null)[];
}

const MAX_KEPT = 200;
const MAX_KEPT_CHARS = 4_096;

/** Returns a function that checks statements of a connection. It keeps the results for repeated statements. */
export function statementPreparer(
  connection: ConnectionOptions,
): (statement: Statement, access: StatementRules['access']) => Promise<PreparedStatement> {
  const { name, allowDdl } = connection;
  const isAllowed = functionAllower(connection.allowFunctions);
  const kept = new BoundedMap<string, Omit<PreparedStatement, 'params'>>(MAX_KEPT);

  async function check(sql: string, access: StatementRules['access']): Promise<Omit<PreparedStatement, 'params'>> {
    const rules: StatementRules = { sql, connection: name, access, allowDdl };
    const checked = checkPostgresStatement(await parsePostgres(sql, name), rules);
    refuseDangerous(checked, rules, isAllowed);
    return { rules, checked };
  }

  return async ({ sql, params }, access) => {
    const key = `${access} ${sql}`;
    const known = kept.get(key) ?? (await check(sql, access));
    if (sql.length <= MAX_KEPT_CHARS) kept.set(key, known);
    return { ...known, params: toParams(params, known.checked.params) };
  };
}
