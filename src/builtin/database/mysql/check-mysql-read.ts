import { quote } from '../../tool-failure.ts';
import { DatabaseFailure } from '../database-failure.ts';
import { checkPlannedChange } from './check-mysql-write.ts';
import { isBuiltInMysqlName, isDangerousMysqlFunction } from './mysql-functions.ts';
import {
  describeVerb,
  explainRefusal,
  isKeyword,
  isSymbol,
  MYSQL_CHANGES,
  type MysqlRules,
  type MysqlStatement,
  mainVerb,
  refuseClause,
  splitMysqlStatement,
} from './split-mysql-statement.ts';
import { type MysqlToken, RefusedConstruct } from './tokenize-mysql.ts';

const isOpen = isSymbol('(');
const isClose = isSymbol(')');
const isDot = isSymbol('.');

const ROWS = ['SELECT', 'WITH', 'VALUES', 'TABLE'];
const PLANS = ['EXPLAIN', 'DESCRIBE', 'DESC'];
/** Verbs that have no plan themselves. */
const PLANLESS = [...PLANS, 'SHOW', 'CHECKSUM', 'ANALYZE'];
/** Subjects of SHOW. Users and servers are missing: they show passwords, or hashes of them. */
const SHOWN = new Set(
  `AUTHORS CHARACTER CHARSET CLIENT_STATISTICS COLLATION COLUMNS CONTRIBUTORS COUNT CREATE DATABASES ENGINE ENGINES
  ERRORS EVENTS EXPLAIN FIELDS FUNCTION GRANTS INDEX INDEXES INDEX_STATISTICS KEYS OPEN PACKAGE PLUGINS PRIVILEGES
  PROCEDURE PROCESSLIST PROFILE PROFILES SCHEMAS STATUS TABLE TABLES TABLE_STATISTICS TRIGGERS USER_STATISTICS
  VARIABLES WARNINGS`.split(/\s+/),
);
/** Subjects of two words. Events of logs and hosts of replicas are missing: they show rows, and passwords. */
const SHOWN_PAIRS = new Set([
  ...['MASTER STATUS', 'MASTER LOGS', 'BINARY LOGS', 'BINARY LOG', 'BINLOG STATUS'],
  ...['SLAVE STATUS', 'REPLICA STATUS', 'ALL SLAVES', 'ALL REPLICAS'],
]);
const HIDDEN_PAIRS = new Set(['CREATE USER', 'CREATE SERVER']);
const SHOW_PREFIXES = ['FULL', 'EXTENDED', 'GLOBAL', 'SESSION', 'LOCAL', 'STORAGE'];

/** A checked statement that reads, or makes a plan. */
export interface MysqlRead extends MysqlStatement {
  /** True for the plan of a change, which a READ ONLY transaction refuses. */
  readonly plansChange: boolean;
  /** True for SHOW GRANTS, whose lines have the hash of a password. */
  readonly showsGrants: boolean;
}

/** Checks a statement that may only read. Throws a `DatabaseFailure` that names the construct and its place. */
export function checkMysqlRead(sql: string, rules: MysqlRules): MysqlRead {
  const statement = splitMysqlStatement(sql, rules);
  const { tokens } = statement;
  const plansChange = explainRefusal(rules, () => checkStatement(statement, rules));
  return {
    ...statement,
    plansChange,
    showsGrants: isKeyword(tokens[0], 'SHOW') && isKeyword(shownBy(tokens)[0], 'GRANTS'),
  };
}

/** Checks a statement that gets EXPLAIN before it. */
export function checkMysqlPlan(sql: string, rules: MysqlRules): MysqlRead {
  const statement = splitMysqlStatement(sql, rules);
  const { verb, tokens } = statement;
  if (PLANLESS.includes(verb)) {
    const text = `A plan exists for SELECT, WITH, VALUES, TABLE, INSERT, REPLACE, UPDATE and DELETE, not for ${verb}. Send that statement with db_query.`;
    throw new DatabaseFailure('STATEMENT_REFUSED', text);
  }
  const plansChange = explainRefusal(rules, () => checkExplained(tokens, rules));
  return { ...statement, plansChange, showsGrants: false };
}

/** Returns true for the plan of a change. */
function checkStatement({ verb, tokens }: MysqlStatement, rules: MysqlRules): boolean {
  const [first, second] = tokens;
  if (isKeyword(first, ...PLANS)) return checkPlan(tokens, rules);
  if (isKeyword(first, 'SHOW')) checkShow(tokens);
  else if (isKeyword(first, 'ANALYZE')) return checkRun(tokens.slice(afterOptions(tokens, 1)), rules);
  else if (!(isKeyword(first, 'CHECKSUM') && isKeyword(second, 'TABLE', 'TABLES'))) checkRowVerb(verb, tokens);
  checkTokens(tokens, rules);
  return false;
}

/** Refuses what is no query. */
function checkRowVerb(verb: string, tokens: readonly MysqlToken[]): void {
  if (!ROWS.includes(verb)) {
    throw new RefusedConstruct(`${describeVerb(verb)} as its first word`, tokens[0]?.start ?? 0);
  }
  if (verb !== 'WITH') return;
  const from = tokens.slice(tokens.findIndex((token) => !isOpen(token)));
  const main = mainVerb(from);
  if (!main || !ROWS.includes(main.text)) {
    throw new RefusedConstruct(`WITH … ${main?.text ?? 'without a query'}`, (main ?? from[0])?.start ?? 0);
  }
}

/** Returns the subject of SHOW and what follows. */
function shownBy(tokens: readonly MysqlToken[]): readonly MysqlToken[] {
  const at = tokens.findIndex((token, place) => place > 0 && !isKeyword(token, ...SHOW_PREFIXES));
  return at < 0 ? [] : tokens.slice(at);
}

function checkShow(tokens: readonly MysqlToken[]): void {
  const [subject, next] = shownBy(tokens);
  const pair = `${subject?.text} ${next?.text}`;
  const isShown = subject?.kind === 'word' && (SHOWN.has(subject.text) || SHOWN_PAIRS.has(pair));
  if (isShown && !HIDDEN_PAIRS.has(pair)) return;
  const text = 'a SHOW that may show passwords or rows, or that is not known';
  throw new RefusedConstruct(text, subject?.start ?? tokens[0]?.start ?? 0);
}

/** Checks EXPLAIN and its synonyms: of a table, of another connection, or of a statement. */
function checkPlan(tokens: readonly MysqlToken[], rules: MysqlRules): boolean {
  const at = afterOptions(tokens, 1);
  const rest = tokens.slice(at);
  if (isKeyword(rest[0], 'ANALYZE')) return checkRun(rest.slice(afterOptions(rest, 1)), rules);
  const isConnection = isKeyword(rest[0], 'FOR') && isKeyword(rest[1], 'CONNECTION') && rest[2]?.kind === 'number';
  if ((isConnection && rest.length === 3) || isTable(rest) || isTable(tokens.slice(1))) return false;
  return checkExplained(rest, rules);
}

/** Returns the place after EXTENDED, PARTITIONS and FORMAT = …. */
function afterOptions(tokens: readonly MysqlToken[], from: number): number {
  if (isKeyword(tokens[from], 'EXTENDED', 'PARTITIONS')) return from + 1;
  return isKeyword(tokens[from], 'FORMAT') && isSymbol('=')(tokens[from + 1]) ? from + 3 : from;
}

/** Returns true for the table of DESCRIBE, with its schema before it or a column after it: `shop.orders '%a'`. */
function isTable(tokens: readonly MysqlToken[]): boolean {
  const isName = (token?: MysqlToken) =>
    token?.kind === 'name' || (token?.kind === 'word' && !RESERVED.has(token.text));
  const rest = isName(tokens[0]) && isDot(tokens[1]) ? tokens.slice(2) : tokens;
  const [table, column, ...others] = rest;
  const isColumn = column === undefined || column.kind === 'string' || isName(column);
  return others.length === 0 && isColumn && (isName(table) || table?.isMember === true);
}

/** Verbs and other words that are no name without quotes. */
const RESERVED = new Set([
  ...ROWS,
  ...MYSQL_CHANGES,
  'ANALYZE',
  'CALL',
  'CREATE',
  'ALTER',
  'DROP',
  'LOAD',
  'SET',
  'FOR',
]);

/** Checks the statement of which only the plan is made. Returns true for a change. */
function checkExplained(tokens: readonly MysqlToken[], rules: MysqlRules): boolean {
  const [first] = tokens;
  const main = isKeyword(first, 'WITH') ? mainVerb(tokens) : first;
  if (isKeyword(main, ...MYSQL_CHANGES)) {
    checkPlannedChange(tokens, rules.storedFunctions);
    return true;
  }
  checkRowVerb(tokens.find((token) => !isOpen(token))?.text ?? '', tokens);
  checkTokens(tokens, rules);
  return false;
}

/** Checks the statement after ANALYZE, which runs it. ANALYZE TABLE writes statistics. */
function checkRun(tokens: readonly MysqlToken[], rules: MysqlRules): boolean {
  const verb = tokens.find((token) => !isOpen(token));
  if (!isKeyword(verb, 'SELECT', 'WITH', 'VALUES')) {
    throw new RefusedConstruct(`ANALYZE of ${describeVerb(verb?.text ?? '')}`, verb?.start ?? 0);
  }
  checkRowVerb(verb?.text ?? '', tokens);
  checkTokens(tokens, rules);
  return false;
}

function checkTokens(tokens: readonly MysqlToken[], rules: MysqlRules): void {
  const calls = { tokens, closings: closingsOf(tokens), allowed: rules.allowFunctions, stored: rules.storedFunctions };
  for (const [at, token] of tokens.entries()) {
    if (isKeyword(token, 'INTO')) throw new RefusedConstruct('INTO', token.start);
    refuseClause(tokens, at);
    if (isOpen(tokens[at + 1])) checkCall(calls, at);
  }
}

interface Calls {
  readonly tokens: readonly MysqlToken[];
  /** The place of the parenthesis that closes, by the place of the one that opens. */
  readonly closings: ReadonlyMap<number, number>;
  readonly allowed: ReadonlySet<string>;
  readonly stored: ReadonlySet<string>;
}

function closingsOf(tokens: readonly MysqlToken[]): ReadonlyMap<number, number> {
  const closings = new Map<number, number>();
  const open: number[] = [];
  for (const [at, token] of tokens.entries()) {
    if (isOpen(token)) open.push(at);
    const opening = isClose(token) ? open.pop() : undefined;
    if (opening !== undefined) closings.set(opening, at);
  }
  return closings;
}

/** Refuses the call of a function that is not known to read only. `at` is the place of the name before a parenthesis. */
function checkCall(calls: Calls, at: number): void {
  const { tokens, allowed } = calls;
  const token = tokens[at] as MysqlToken;
  if (token.kind !== 'word' && token.kind !== 'name') return;
  const name = token.text.toUpperCase();
  if (isDangerousMysqlFunction(name)) throw new RefusedConstruct(`the function ${quote(name)}`, token.start);
  const before = tokens[at - 1];
  const schema = isDot(before) ? tokens[at - 2]?.text.toUpperCase() : undefined;
  if (allowed.has(name) || allowed.has(`${schema}.${name}`)) return;
  // A quoted name or a name with a schema is a stored function, even if a built-in one has the same name.
  const isBuiltIn = token.kind === 'word' && schema === undefined && !isGlued(before, token);
  if (isBuiltIn && isBuiltInMysqlName(name, calls.stored)) return;
  if (isColumnList(calls, at)) return;
  const shown = schema === undefined ? name : `${schema}.${name}`;
  const fix = 'which may do more than read; an operator can permit it with allowFunctions';
  throw new RefusedConstruct(`the function ${quote(shown)}, ${fix}`, token.start);
}

/** Returns true if the server reads a number and a word as one name: `2count`. */
const isGlued = (before: MysqlToken | undefined, token: MysqlToken): boolean =>
  before?.kind === 'number' && before.end === token.start;

/** Returns true for the columns of a common table expression, `c (a, b) AS (…)`, or of an alias. No call has these forms. */
function isColumnList({ tokens, closings }: Calls, at: number): boolean {
  if (isKeyword(tokens[at - 1], 'AS') || isClose(tokens[at - 1])) return true;
  const closing = closings.get(at + 1);
  return closing !== undefined && isKeyword(tokens[closing + 1], 'AS') && isOpen(tokens[closing + 2]);
}
