import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkPostgresStatement } from '../src/builtin/database/postgres/statements/check-postgres-statement.ts';
import { refuseDangerous } from '../src/builtin/database/postgres/statements/function-check.ts';
import { parsePostgres } from '../src/builtin/database/postgres/statements/parse-postgres.ts';
import type { StatementRules } from '../src/builtin/database/postgres/statements/refusal.ts';

const CASES = 'security/sql-readonly/crystaldba-postgres-mcp-safe_sql.jsonl';

/** Statements that the other server rejects although they only read: ANALYZE runs a statement that passed the check. */
const HARMLESS: ReadonlySet<string> = new Set(['EXPLAIN ANALYZE SELECT id, name FROM users']);

interface Case {
  readonly sql: string;
  readonly expect: 'accept' | 'reject';
}

/** Checks statements of another read-only server. Returns false if one that it rejects is accepted here. */
export async function evaluateReadOnlySql(data: string): Promise<boolean> {
  const file = join(data, CASES);
  if (!existsSync(file)) {
    process.stdout.write(`${CASES} is not in the data folder: nothing to check.\n`);
    return true;
  }
  const cases = readFileSync(file, 'utf8')
    .split('\n')
    .filter((text) => text !== '')
    .map((text): Case => JSON.parse(text));
  const found = await Promise.all(cases.map(async (one) => ({ ...one, refused: await whyRefused(one.sql) })));
  const agreed = found.filter(({ expect, refused }) => (expect === 'reject') === (refused !== undefined));
  process.stdout.write(`${agreed.length} of ${found.length} agree\n`);
  for (const { sql, expect, refused } of found.filter((one) => !agreed.includes(one))) {
    process.stdout.write(`- expected: ${expect}; here: ${refused ?? 'accepted'}\n  ${onOneLine(sql)}\n`);
  }
  return found.every(
    ({ sql, expect, refused }) => expect === 'accept' || refused !== undefined || HARMLESS.has(onOneLine(sql)),
  );
}

const onOneLine = (sql: string): string => sql.trim().replaceAll(/\s+/g, ' ');

/** Returns why a statement is refused without a database. Functions of a database are checked when it is open. */
async function whyRefused(sql: string): Promise<string | undefined> {
  const rules: StatementRules = { sql, connection: 'eval', access: 'read', allowDdl: false };
  try {
    refuseDangerous(checkPostgresStatement(await parsePostgres(sql, 'eval'), rules), rules);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}
