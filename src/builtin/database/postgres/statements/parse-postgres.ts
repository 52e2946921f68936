import type { JsonObject } from '../../../../core/call.ts';
import { cutAndEscapeBreaks } from '../../../../core/text/cut-text.ts';
import { DatabaseFailure } from '../../database-failure.ts';
import { driverMissing } from '../load-driver.ts';
import { describeCharacter } from './refusal.ts';
import { parseInThread } from './statement-parser.ts';

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
  const reply = await parseInThread(sql);
  if ('tree' in reply) return (JSON.parse(reply.tree) as { readonly stmts?: readonly JsonObject[] }).stmts ?? [];
  if ('missing' in reply) throw driverMissing('libpg-query', connection, new Error(reply.missing));
  throw 'syntax' in reply ? explainSyntaxError(reply.syntax, sql) : tooDeep();
}

const tooDeep = () => new DatabaseFailure('INPUT_INVALID', 'The statement is nested too deeply. Split it.');

interface SyntaxFault {
  readonly message: string;
  /** Counted in code points. */
  readonly position: number;
}

function explainSyntaxError({ message, position }: SyntaxFault, sql: string): DatabaseFailure {
  // The parser reports deep nesting as exhausted memory.
  if (message.startsWith('memory exhausted')) return tooDeep();
  const characters = [...sql].slice(0, position).join('').length;
  const shown = cutAndEscapeBreaks(message, MAX_MESSAGE_CHARS);
  const text = `The statement is no valid SQL: ${shown} (${describeCharacter(sql, characters)}).`;
  return new DatabaseFailure('STATEMENT_FAILED', text);
}
