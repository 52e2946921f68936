import { quote } from '../../tool-failure.ts';
import { isBuiltInMysqlName, isDangerousMysqlFunction } from './mysql-functions.ts';
import {
  describeVerb,
  explainRefusal,
  isKeyword,
  isSequenceStep,
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

const DEFINES = ['CREATE', 'ALTER', 'DROP', 'TRUNCATE'];
const OBJECTS = ['TABLE', 'TABLES', 'INDEX', 'VIEW', 'SEQUENCE'];
// Before the kind of object; DEFINER and ALGORITHM have values, which are skipped too.
const BEFORE_OBJECT = [
  'OR',
  'REPLACE',
  'UNIQUE',
  'FULLTEXT',
  'SPATIAL',
  'ONLINE',
  'OFFLINE',
  'IGNORE',
  'SQL',
  'SECURITY',
];
const OTHER_OBJECTS = [
  ...['DATABASE', 'SCHEMA', 'USER', 'ROLE', 'FUNCTION', 'AGGREGATE', 'PROCEDURE', 'TRIGGER', 'EVENT', 'SERVER'],
  ...['TABLESPACE', 'LOGFILE', 'PACKAGE', 'TEMPORARY', 'PREPARE', 'INSTANCE', 'RESOURCE', 'UNDO'],
];
// Storage engines that read files or other servers.
const OUTSIDE_ENGINES = ['CONNECT', 'FEDERATED', 'SPIDER', 'S3', 'MROONGA', 'OQGRAPH', 'SPHINX', 'CASSANDRA'];

/** A checked statement that writes. */
export interface MysqlWrite extends MysqlStatement {
  /** True if the server commits it by itself, before and after. */
  readonly isDefinition: boolean;
  /** True if an error may leave a part of it done. */
  readonly mayHalfApply: boolean;
  /** True if it calls a function that is not built in. EXPLAIN may run such functions. */
  readonly callsStoredFunction: boolean;
}

/** Checks a statement for `db_execute`. Throws a `DatabaseFailure` that names the construct and its place. */
export function checkMysqlWrite(sql: string, rules: MysqlRules): MysqlWrite {
  const statement = splitMysqlStatement(sql, rules);
  return explainRefusal(rules, () => {
    const { tokens, verb } = statement;
    const isDefinition = checkVerb(statement, rules.allowDdl);
    for (const at of tokens.keys()) checkToken(tokens, at);
    return {
      ...statement,
      isDefinition,
      mayHalfApply: isDefinition && verb === 'CREATE' && isKeyword(tokens[1], 'OR'),
      callsStoredFunction: tokens.some((_, at) => isStoredCall(tokens, at, rules.storedFunctions)),
    };
  });
}

/** Checks a change of which only the plan is made. EXPLAIN may run stored functions, in a transaction that may write. */
export function checkPlannedChange(tokens: readonly MysqlToken[], stored: ReadonlySet<string>): void {
  for (const [at, token] of tokens.entries()) {
    checkToken(tokens, at);
    refuseClause(tokens, at);
    if (isStoredCall(tokens, at, stored)) {
      throw new RefusedConstruct(`the stored function ${quote(token.text)}, which EXPLAIN may run`, token.start);
    }
  }
}

/** Returns true for a statement that defines tables, indexes, views or sequences. */
function checkVerb({ tokens, verb }: MysqlStatement, allowDdl: boolean): boolean {
  const [first] = tokens as readonly [MysqlToken];
  const main = verb === 'WITH' ? mainVerb(tokens) : first;
  if (isKeyword(main, ...MYSQL_CHANGES)) return false;
  if (!isKeyword(first, ...DEFINES)) {
    throw new RefusedConstruct(`${describeVerb(main?.text ?? verb)} as its verb`, main?.start ?? 0);
  }
  if (!allowDdl) throw new RefusedConstruct(`${first.text}, which needs allowDdl on this connection`, first.start);
  const object = tokens.find(
    (token, at) => at > 0 && !isValue(tokens, at) && isKeyword(token, ...OBJECTS, ...OTHER_OBJECTS),
  );
  const isKnown = isKeyword(first, 'TRUNCATE') || isKeyword(object, ...OBJECTS);
  if (!isKnown || !isFirstObject(tokens, object)) {
    throw new RefusedConstruct(`${first.text} of something else than a table, index, view or sequence`, first.start);
  }
  checkDefinition(tokens, first);
  return true;
}

/** Returns true if only options stand between the verb and the kind of object. */
function isFirstObject(tokens: readonly MysqlToken[], object: MysqlToken | undefined): boolean {
  const end = object ? tokens.indexOf(object) : 1;
  return tokens
    .slice(1, end)
    .every(
      (token, at) =>
        isValue(tokens, at + 1) ||
        token.kind !== 'word' ||
        isKeyword(token, ...BEFORE_OBJECT, 'ALGORITHM', 'DEFINER', 'INVOKER', 'CURRENT_USER'),
    );
}

/** Returns true for the value of an option, such as the user after `DEFINER =`, which may have the name of a keyword. */
function isValue(tokens: readonly MysqlToken[], at: number): boolean {
  const before = tokens[at - 1];
  return ['=', '@'].some((sign) => isSymbol(sign)(before)) || before?.kind === 'variable';
}

function checkDefinition(tokens: readonly MysqlToken[], first: MysqlToken): void {
  for (const [at, token] of tokens.entries()) {
    const next = tokens[at + 1];
    // DROP TABLE a, b drops a although b is missing.
    if (first.text === 'DROP' && isSymbol(',')(token))
      throw new RefusedConstruct('several objects in one DROP', token.start);
    if (isKeyword(token, 'DATA', 'INDEX') && isKeyword(next, 'DIRECTORY')) {
      throw new RefusedConstruct('a folder of the server', token.start);
    }
    if (isKeyword(token, 'TABLESPACE')) throw new RefusedConstruct('TABLESPACE', token.start);
    if (isKeyword(token, 'ENGINE')) checkEngine(tokens, at);
  }
}

function checkEngine(tokens: readonly MysqlToken[], at: number): void {
  const engine = isSymbol('=')(tokens[at + 1]) ? tokens[at + 2] : tokens[at + 1];
  const name = engine?.text.replaceAll(/['"]/g, '').toUpperCase() ?? '';
  if (OUTSIDE_ENGINES.includes(name)) throw new RefusedConstruct(`the engine ${quote(name)}`, tokens[at]?.start ?? 0);
}

function checkToken(tokens: readonly MysqlToken[], at: number): void {
  const token = tokens[at] as MysqlToken;
  const next = tokens[at + 1];
  if (isOpen(next) && (token.kind === 'word' || token.kind === 'name') && isDangerousMysqlFunction(token.text)) {
    throw new RefusedConstruct(`the function ${quote(token.text)}`, token.start);
  }
  if (isSequenceStep(tokens, at)) throw new RefusedConstruct('a change of a sequence', token.start);
  if (isKeyword(token, 'DELAYED'))
    throw new RefusedConstruct('DELAYED, which reports rows before they exist', token.start);
  const isFile = isKeyword(token, 'OUTFILE', 'DUMPFILE', 'INFILE');
  const isVariable = isKeyword(token, 'INTO') && next?.kind === 'variable';
  if (isFile || isVariable) throw new RefusedConstruct(`INTO ${token.text}`, token.start);
}

// The name of a table before its columns looks like a call.
const BEFORE_TABLE = ['INTO', 'INSERT', 'REPLACE', 'IGNORE', 'LOW_PRIORITY', 'HIGH_PRIORITY', 'AS'];

function isStoredCall(tokens: readonly MysqlToken[], at: number, stored: ReadonlySet<string>): boolean {
  const token = tokens[at] as MysqlToken;
  if (!isOpen(tokens[at + 1]) || (token.kind !== 'word' && token.kind !== 'name')) return false;
  if (isSymbol('.')(tokens[at - 1])) return !isKeyword(tokens[at - 3], ...BEFORE_TABLE);
  if (isKeyword(tokens[at - 1], ...BEFORE_TABLE)) return false;
  return token.kind === 'name' || !isBuiltInMysqlName(token.text, stored);
}
