import type { JsonObject } from '../../../../core/call.ts';
import { cutText } from '../../../../core/text/cut-text.ts';
import { oneLine } from '../../../../core/text/visible-text.ts';
import { DatabaseFailure } from '../../database-failure.ts';
import { importDriver } from '../load-driver.ts';
import { describeCharacter } from './refusal.ts';

const MAX_SQL_BYTES = 100 * 1024;
const MAX_MESSAGE_CHARS = 500;

/** Parses a statement with the grammar of Postgres. Throws a `DatabaseFailure` for text that is not SQL. */
export async function parsePostgres(sql: string, connection: string): Promise<readonly JsonObject[]> {
  if (sql.includes('\0')) throw new DatabaseFailure('INPUT_INVALID', 'The statement contains a NUL. Remove it.');
  // Parser and driver encode half a character differently.
  if (!sql.isWellFormed())
    throw new DatabaseFailure('INPUT_INVALID', 'The statement has half a character. Correct it.');
  const bytes = Buffer.byteLength(sql);
  if (bytes > MAX_SQL_BYTES) {
    const text = `The statement has ${bytes} bytes, and ${MAX_SQL_BYTES} are allowed. Send values as params.`;
    throw new DatabaseFailure('INPUT_INVALID', text);
  }
  if (sql.trim() === '') return [];
  const { loadModule, parseSync } = await importDriver('libpg-query', connection, () => import('libpg-query'));
  await loadModule();
  try {
    return (parseSync(sql) as unknown as { readonly stmts?: readonly JsonObject[] }).stmts ?? [];
  } catch (cause) {
    throw explainSyntaxError(cause, sql);
  }
}

function explainSyntaxError(cause: unknown, sql: string): DatabaseFailure {
  const details = (cause as { readonly sqlDetails?: { readonly message: string; readonly cursorPosition: number } })
    .sqlDetails;
  // The parser overflows its stack on deep nesting, and reports exhausted memory on deeper nesting.
  if (!details || details.message.startsWith('memory exhausted')) {
    return new DatabaseFailure('INPUT_INVALID', 'The statement is nested too deeply. Split it.', { cause });
  }
  // Counted in code points.
  const characters = [...sql].slice(0, details.cursorPosition).join('').length;
  const message = cutText(oneLine(details.message), MAX_MESSAGE_CHARS);
  const text = `The statement is no valid SQL: ${message} (${describeCharacter(sql, characters)}).`;
  return new DatabaseFailure('STATEMENT_FAILED', text, { cause });
}
