import type { Json } from '../../../core/call.ts';
import { quote } from '../../tool-failure.ts';
import type { ConnectionOptions, Statement } from '../database.ts';
import { DatabaseFailure } from '../database-failure.ts';
import { parametersOf, type SqliteToken, sqliteTokens } from './sqlite-tokens.ts';

export type StatementPurpose = 'read' | 'write' | 'explain';

/** A statement that passed the check, with its values by the name or number of their parameters. */
export interface CheckedSqliteStatement {
  readonly sql: string;
  /** The verb: SELECT, INSERT, CREATE and so on. */
  readonly verb: string;
  /** True if it begins with EXPLAIN. */
  readonly isExplain: boolean;
  readonly named: Readonly<Record<string, Json>>;
  readonly values: readonly Json[];
}

const MAX_SQL_BYTES = 100 * 1024;
const MAX_PARAMETERS = 32_766;
const READS: ReadonlySet<string> = new Set(['SELECT', 'VALUES', 'PRAGMA']);
const WRITES: ReadonlySet<string> = new Set(['INSERT', 'REPLACE', 'UPDATE', 'DELETE']);
const DEFINES: ReadonlySet<string> = new Set(['CREATE', 'ALTER', 'DROP']);
const DEFINED: ReadonlySet<string> = new Set(['TABLE', 'INDEX', 'VIEW']);

/** The answer to `PRAGMA database_list`, without the path of the file. There are never attached databases. */
const DATABASE_LIST = "SELECT 0 AS seq, 'main' AS name, NULL AS file";

/** Functions that load code, read or write files, or write the log. Most are absent from Node's SQLite. */
export const FORBIDDEN_FUNCTIONS: ReadonlySet<string> = new Set([
  ...['load_extension', 'fts3_tokenizer', 'readfile', 'writefile', 'edit', 'fsdir', 'lsmode', 'sqlite_log', 'eval'],
]);

/** Words and signs before the name of a table, which may have parentheses as a function does. */
const BEFORE_TABLE: ReadonlySet<string> = new Set(['TABLE', 'EXISTS', 'ON', 'REFERENCES', 'VIEW', '.']);

/**
 * Checks the form of a statement before a child sees it: one statement, of a permitted kind, with the right count of
 * values. The authorizer in the child checks what the statement does.
 */
export function checkSqliteStatement(
  { sql: written, params }: Statement,
  connection: ConnectionOptions,
  purpose: StatementPurpose,
): CheckedSqliteStatement {
  // A lone surrogate would become another character on its way to SQLite.
  const sql = written.toWellFormed();
  if (sql.includes('\0')) throw invalid('The statement contains a NUL character. Remove it');
  if (Buffer.byteLength(sql) > MAX_SQL_BYTES) {
    throw invalid(`The statement is longer than ${MAX_SQL_BYTES} bytes. Send long values in "params"`);
  }
  const tokens = [...sqliteTokens(sql)];
  const end = tokens.findIndex(isSemicolon);
  const own = end < 0 ? tokens : tokens.slice(0, end);
  const [first] = own;
  if (!first) throw invalid('The statement is empty. Send one SQL statement');
  const verb = checkKind(own, connection, purpose);
  if (DEFINES.has(verb)) refuseForbiddenCalls(own);
  const second = tokens.slice(own.length).find((token) => !isSemicolon(token));
  if (second) {
    throw refused(`A second statement begins at position ${second.at + 1}. Send one statement per call`);
  }
  const isList = own.length === 2 && verb === 'PRAGMA' && wordAt(own, 1) === 'DATABASE_LIST';
  const isExplain = wordAt(own, 0) === 'EXPLAIN';
  return { sql: isList ? DATABASE_LIST : sql, verb, isExplain, ...valuesOf(own, params) };
}

const isSemicolon = ({ text }: SqliteToken): boolean => text === ';';

/** Returns the verb of a permitted statement. Throws for all others. */
function checkKind(tokens: readonly SqliteToken[], connection: ConnectionOptions, purpose: StatementPurpose): string {
  const isExplain = wordAt(tokens, 0) === 'EXPLAIN';
  const start = isExplain ? afterExplain(tokens) : 0;
  const verb = verbOf(tokens, start);
  const text = wordAt(tokens, verb) ?? '';
  const isRead = READS.has(text);
  const isPlan = isExplain || purpose === 'explain';
  // A plan of a change runs nothing. EXPLAIN is no write.
  const permitted =
    purpose === 'write'
      ? !isExplain && mayWrite(tokens, verb, connection)
      : isRead || (isPlan && WRITES.has(text)) || (purpose === 'explain' && mayWrite(tokens, verb, connection));
  if (permitted) return text;
  const token = tokens[purpose === 'write' && isExplain ? 0 : verb] ?? tokens[0];
  const shown = token?.kind === 'word' ? token.text.slice(0, 30).toUpperCase() : 'This';
  throw refused(
    `${shown} at position ${(token?.at ?? 0) + 1} is not permitted on the connection "${connection.name}", ` +
      `whose access is "${connection.access}"${allowance(connection, purpose, isRead)}`,
  );
}

/** Refuses calls that SQLite checks only when a definition runs: an approver must not see such a statement. */
function refuseForbiddenCalls(tokens: readonly SqliteToken[]): void {
  const call = tokens.find(({ text }, index) => {
    const before = tokens[index - 1]?.text.toUpperCase() ?? '';
    const isCall = tokens[index + 1]?.text === '(' && !BEFORE_TABLE.has(before);
    return isCall && FORBIDDEN_FUNCTIONS.has(text.replace(/^["`[]|["`\]]$/g, '').toLowerCase());
  });
  if (call) throw refused(`The function ${quote(call.text)} at position ${call.at + 1} is not permitted`);
}

const afterExplain = (tokens: readonly SqliteToken[]): number => (wordAt(tokens, 1) === 'QUERY' ? 3 : 1);

function allowance({ access, allowDdl }: ConnectionOptions, purpose: StatementPurpose, reads: boolean): string {
  if (purpose === 'read') return '. Send one SELECT, WITH, VALUES, PRAGMA or EXPLAIN';
  if (purpose === 'explain') return '. Send one SELECT, WITH, VALUES, INSERT, REPLACE, UPDATE or DELETE';
  if (access === 'read') return '. Use a connection with access "readwrite"';
  if (reads) return '. Use db_query to read';
  const ddl = allowDdl ? ', or CREATE, ALTER, DROP of a table, index or view' : ' (without allowDdl no definitions)';
  return `. Send one INSERT, REPLACE, UPDATE or DELETE${ddl}`;
}

/** Returns the place of the verb. The common table expressions of WITH stand in parentheses before it. */
function verbOf(tokens: readonly SqliteToken[], start: number): number {
  if (wordAt(tokens, start) !== 'WITH') return start;
  let depth = 0;
  for (let index = start + 1; index < tokens.length; index++) {
    const { text } = tokens[index] as SqliteToken;
    if (text === '(') depth += 1;
    else if (text === ')') depth -= 1;
    else if (depth === 0 && isVerb(tokens, index)) return index;
  }
  return start;
}

/** REPLACE is a verb before INTO only: elsewhere it is a name. */
function isVerb(tokens: readonly SqliteToken[], index: number): boolean {
  const word = wordAt(tokens, index) ?? '';
  if (word === 'REPLACE') return wordAt(tokens, index + 1) === 'INTO';
  return word !== 'PRAGMA' && (READS.has(word) || WRITES.has(word));
}

/** Tests for a change of rows, or with `allowDdl` the definition of a table, index or view. */
function mayWrite(tokens: readonly SqliteToken[], verb: number, { access, allowDdl }: ConnectionOptions): boolean {
  const word = wordAt(tokens, verb) ?? '';
  if (access !== 'readwrite' || WRITES.has(word)) return access === 'readwrite';
  const object = wordAt(tokens, verb + 1);
  const defined = (object === 'UNIQUE' ? wordAt(tokens, verb + 2) : object) ?? '';
  return allowDdl && DEFINES.has(word) && DEFINED.has(defined);
}

function wordAt(tokens: readonly SqliteToken[], index: number): string | undefined {
  const token = tokens[index];
  return token?.kind === 'word' ? token.text.toUpperCase() : undefined;
}

/** Assigns the values in the order of SQLite's parameter numbers. */
function valuesOf(tokens: readonly SqliteToken[], params: readonly Json[]) {
  const parameters = parametersOf(tokens);
  if (parameters.length > MAX_PARAMETERS) {
    throw invalid(`The statement has more than ${MAX_PARAMETERS} parameters. Use fewer`);
  }
  if (parameters.length !== params.length) {
    throw invalid(
      `The statement has ${parameters.length} parameters, but "params" has ${params.length} values. ` +
        `Send ${parameters.length === 0 ? 'none' : `exactly ${parameters.length}`}`,
    );
  }
  const values: Json[] = [];
  const named: Record<string, Json> = {};
  for (const [index, name] of parameters.entries()) {
    const value = asScalar(params[index] ?? null);
    if (name === undefined) values.push(value);
    else named[name] = value;
  }
  return { named, values };
}

/** Writes an array, an object or a number beyond JavaScript as text. SQLite has no such values. */
const asScalar = (value: Json): Json => (typeof value === 'object' && value !== null ? JSON.stringify(value) : value);

const invalid = (message: string) => new DatabaseFailure('INPUT_INVALID', `${message}.`);
const refused = (message: string) => new DatabaseFailure('STATEMENT_REFUSED', `${message}.`);
