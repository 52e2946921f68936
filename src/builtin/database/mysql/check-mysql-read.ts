import { quote } from '../../tool-failure.ts';
import { isBuiltInMysqlName, isDangerousMysqlFunction } from './mysql-functions.ts';
import {
  explainRefusal,
  isKeyword,
  isSymbol,
  type MysqlRules,
  type MysqlStatement,
  splitMysqlStatement,
} from './split-mysql-statement.ts';
import { type MysqlToken, RefusedConstruct } from './tokenize-mysql.ts';

const isOpen = isSymbol('(');
const isClose = isSymbol(')');
const isDot = isSymbol('.');

const ROWS = ['SELECT', 'WITH', 'VALUES', 'TABLE'];
const PLANS = ['EXPLAIN', 'DESCRIBE', 'DESC'];
const WRITING = ['INSERT', 'REPLACE', 'UPDATE', 'DELETE', 'LOAD', 'CALL', 'CREATE', 'ALTER', 'DROP', 'SET', 'DO'];
/** Subjects of SHOW. Grants and users are missing: they show hashes of passwords. */
const SHOWN = new Set(
  `CHARACTER CHARSET COLLATION COLUMNS COUNT CREATE DATABASES ENGINES ERRORS EVENTS FIELDS FUNCTION INDEX INDEXES
  KEYS OPEN PLUGINS PROCEDURE SCHEMAS STATUS TABLE TABLES TRIGGERS VARIABLES WARNINGS`.split(/\s+/),
);
const SHOW_PREFIXES = ['FULL', 'EXTENDED', 'GLOBAL', 'SESSION', 'LOCAL', 'STORAGE'];

/** Checks a statement that may only read. Throws a `DatabaseFailure` that names the construct and its place. */
export function checkMysqlRead(sql: string, rules: MysqlRules): MysqlStatement {
  const statement = splitMysqlStatement(sql, rules);
  explainRefusal(rules, () => {
    checkVerb(statement);
    const { tokens } = statement;
    const calls = {
      tokens,
      closings: closingsOf(tokens),
      allowed: rules.allowFunctions,
      stored: rules.storedFunctions,
    };
    for (const [at, token] of tokens.entries()) {
      checkWord(statement, at);
      if (isOpen(tokens[at + 1])) checkCall(calls, at);
      if (isSequenceStep(tokens, at)) throw new RefusedConstruct('a change of a sequence', token.start);
    }
  });
  return statement;
}

function checkVerb({ verb, tokens }: MysqlStatement): void {
  const [first] = tokens;
  const at = first?.start ?? 0;
  if (ROWS.includes(verb)) {
    if (verb === 'WITH') checkMainVerb(tokens);
    return;
  }
  if (isOpen(first) || ![...PLANS, 'SHOW'].includes(verb)) {
    throw new RefusedConstruct(`${describeVerb(verb)} as its first word`, at);
  }
  if (verb === 'SHOW') {
    const subject = tokens.find((token, place) => place > 0 && !isKeyword(token, ...SHOW_PREFIXES));
    const isHidden =
      isKeyword(subject, 'CREATE') && isKeyword(tokens[tokens.indexOf(subject as MysqlToken) + 1], 'USER', 'SERVER');
    if (!subject || !SHOWN.has(subject.text) || isHidden) {
      throw new RefusedConstruct('a SHOW that is not of tables, columns, indexes, routines, variables or status', at);
    }
    return;
  }
  const explained = tokens.find((token, place) => place > 0 && isKeyword(token, ...ROWS, ...WRITING));
  if (isKeyword(explained, ...WRITING))
    throw new RefusedConstruct(`EXPLAIN of ${explained?.text}`, explained?.start ?? 0);
  if (isKeyword(explained, 'WITH')) checkMainVerb(tokens.slice(tokens.indexOf(explained as MysqlToken)));
}

/** Refuses a WITH whose statement, after the common table expressions, writes. */
function checkMainVerb(tokens: readonly MysqlToken[]): void {
  const main = mainVerb(tokens);
  if (main && !ROWS.includes(main.text)) throw new RefusedConstruct(`WITH … ${main.text}`, main.start);
}

/** Finds the verb after WITH and its parentheses. All verbs are reserved words, so no name can look like one. */
export function mainVerb(tokens: readonly MysqlToken[]): MysqlToken | undefined {
  let depth = 0;
  return tokens.find((token, at) => {
    if (isOpen(token)) depth++;
    if (isClose(token)) depth--;
    return (
      at > 0 && depth === 0 && isKeyword(token, 'SELECT', 'VALUES', 'TABLE', 'INSERT', 'REPLACE', 'UPDATE', 'DELETE')
    );
  });
}

export const describeVerb = (verb: string): string => (verb === '' ? 'no keyword' : quote(verb.slice(0, 40)));

function checkWord({ verb, tokens }: MysqlStatement, at: number): void {
  const token = tokens[at] as MysqlToken;
  const next = tokens[at + 1];
  if (isKeyword(token, 'INTO')) throw new RefusedConstruct('INTO', token.start);
  if (isKeyword(token, 'ANALYZE')) throw new RefusedConstruct('ANALYZE', token.start);
  const locks =
    (isKeyword(token, 'FOR') && isKeyword(next, 'UPDATE', 'SHARE')) ||
    (isKeyword(token, 'LOCK') && isKeyword(next, 'IN'));
  if (locks) throw new RefusedConstruct('a clause that locks rows', token.start);
  if (isKeyword(token, 'PROCEDURE') && verb !== 'SHOW') throw new RefusedConstruct('PROCEDURE', token.start);
}

/** Returns true for `NEXT VALUE FOR`, the call of NEXTVAL without a parenthesis. */
export const isSequenceStep = (tokens: readonly MysqlToken[], at: number): boolean =>
  isKeyword(tokens[at], 'NEXT') && isKeyword(tokens[at + 1], 'VALUE') && isKeyword(tokens[at + 2], 'FOR');

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
