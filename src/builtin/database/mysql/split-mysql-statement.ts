import { quote } from '../../tool-failure.ts';
import { DatabaseFailure } from '../database-failure.ts';
import { type MysqlToken, RefusedConstruct, type SqlMode, tokenizeMysql } from './tokenize-mysql.ts';

/** The rules for statements on one connection. */
export interface MysqlRules {
  readonly connection: string;
  readonly access: 'read' | 'readwrite';
  readonly allowDdl: boolean;
  /** Names in capitals, some with their schema: `SHOP.PRICE_OF`. */
  readonly allowFunctions: ReadonlySet<string>;
  /** Stored functions, in capitals, that have the name of a built-in function or a keyword. */
  readonly storedFunctions: ReadonlySet<string>;
  readonly mode: SqlMode;
}

/** A statement without its semicolon. */
export interface MysqlStatement {
  readonly sql: string;
  readonly tokens: readonly MysqlToken[];
  /** The first word that is not in parentheses before anything else: SELECT of `((SELECT 1))`. */
  readonly verb: string;
  readonly parameters: number;
}

const MAX_BYTES = 100 * 1024;

/** Splits the text of one statement. Throws a `DatabaseFailure` for none, several, or a construct that is never permitted. */
export function splitMysqlStatement(sql: string, rules: MysqlRules): MysqlStatement {
  if (Buffer.byteLength(sql) > MAX_BYTES) {
    throw new DatabaseFailure(
      'INPUT_INVALID',
      `The statement is longer than ${MAX_BYTES / 1024} KB. Send a shorter one.`,
    );
  }
  if (sql.includes('\0')) {
    throw new DatabaseFailure('INPUT_INVALID', 'The statement has a NUL character. Pass such values as params.');
  }
  const all = explainRefusal(rules, () => tokenizeMysql(sql, rules.mode));
  const semicolon = all.findIndex(isSymbol(';'));
  const tokens = semicolon < 0 ? all : all.slice(0, semicolon);
  if (all.length > tokens.length + 1) {
    throw refused(rules, 'a second statement', all[semicolon + 1]?.start ?? semicolon);
  }
  const first = tokens.find((token) => !isSymbol('(')(token));
  if (!first) throw new DatabaseFailure('INPUT_INVALID', 'The statement is empty. Send one SQL statement.');
  return {
    sql: semicolon < 0 ? sql : sql.slice(0, all[semicolon]?.start),
    tokens,
    verb: first.kind === 'word' ? first.text : '',
    parameters: tokens.filter(isSymbol('?')).length,
  };
}

export const isSymbol =
  (text: string) =>
  (token: MysqlToken | undefined): boolean =>
    token?.kind === 'symbol' && token.text === text;

/** Returns true for an unquoted word that the server does not take for the name of a member. */
export const isKeyword = (token: MysqlToken | undefined, ...texts: readonly string[]): boolean =>
  token?.kind === 'word' && !token.isMember && texts.includes(token.text);

/** Verbs of statements that change rows. */
export const MYSQL_CHANGES: readonly string[] = ['INSERT', 'REPLACE', 'UPDATE', 'DELETE'];

/** Finds the verb after WITH and its common table expressions. Verbs are reserved words, but for `replace` as a name. */
export function mainVerb(tokens: readonly MysqlToken[]): MysqlToken | undefined {
  let depth = 0;
  return tokens.find((token, at) => {
    if (isSymbol('(')(token)) depth++;
    if (isSymbol(')')(token)) depth--;
    const isVerb = at > 0 && depth === 0 && isKeyword(token, 'SELECT', 'VALUES', 'TABLE', ...MYSQL_CHANGES);
    return isVerb && !isExpressionName(tokens, at);
  });
}

/** Returns true for the name of a common table expression. No verb can stand there. */
const isExpressionName = (tokens: readonly MysqlToken[], at: number): boolean =>
  (isKeyword(tokens[at - 1], 'WITH', 'RECURSIVE') || isSymbol(',')(tokens[at - 1])) &&
  (isKeyword(tokens[at + 1], 'AS') || isSymbol('(')(tokens[at + 1]));

export const describeVerb = (verb: string): string => (verb === '' ? 'no keyword' : quote(verb.slice(0, 40)));

/** Refuses clauses that lock rows, change sequences or run a procedure. */
export function refuseClause(tokens: readonly MysqlToken[], at: number): void {
  const token = tokens[at] as MysqlToken;
  const next = tokens[at + 1];
  const locks =
    (isKeyword(token, 'FOR') && isKeyword(next, 'UPDATE', 'SHARE')) ||
    (isKeyword(token, 'LOCK') && isKeyword(next, 'IN'));
  if (locks) throw new RefusedConstruct('a clause that locks rows', token.start);
  if (isSequenceStep(tokens, at)) throw new RefusedConstruct('a change of a sequence', token.start);
  if (isKeyword(token, 'ANALYZE', 'PROCEDURE') && !isKeyword(tokens[0], 'SHOW')) {
    throw new RefusedConstruct(token.text, token.start);
  }
}

/** Returns true for `NEXT VALUE FOR`, the call of NEXTVAL without a parenthesis. */
export const isSequenceStep = (tokens: readonly MysqlToken[], at: number): boolean =>
  isKeyword(tokens[at], 'NEXT') && isKeyword(tokens[at + 1], 'VALUE') && isKeyword(tokens[at + 2], 'FOR');

/** Runs a check. A `RefusedConstruct` becomes a failure that names the construct, its place and the access. */
export function explainRefusal<T>(rules: MysqlRules, check: () => T): T {
  try {
    return check();
  } catch (thrown) {
    throw thrown instanceof RefusedConstruct ? refused(rules, thrown.construct, thrown.at) : thrown;
  }
}

const READS = 'SELECT, WITH, VALUES, TABLE, SHOW, DESCRIBE, CHECKSUM or EXPLAIN';
const WRITES = 'db_query takes one that reads, db_execute one INSERT, REPLACE, UPDATE or DELETE';

function refused(rules: MysqlRules, construct: string, at: number): DatabaseFailure {
  const permitted = rules.access === 'read' ? `send one ${READS}` : WRITES;
  return new DatabaseFailure(
    'STATEMENT_REFUSED',
    `The statement is not permitted: it has ${construct} (character ${at + 1}). The connection "${rules.connection}" has access "${rules.access}": ${permitted}.`,
  );
}
