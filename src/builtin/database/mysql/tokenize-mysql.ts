/** Settings of a session that change where strings and names end. */
export interface SqlMode {
  readonly ansiQuotes: boolean;
  readonly noBackslashEscapes: boolean;
}

/** A part of a statement as the server splits it. Blanks and comments are left out. */
export interface MysqlToken {
  readonly kind: 'word' | 'name' | 'string' | 'number' | 'variable' | 'symbol';
  /** A word in capitals, a quoted name without its quotes, other tokens as written. */
  readonly text: string;
  readonly start: number;
  readonly end: number;
  /** True directly after a dot, where the server takes every word for a name. */
  readonly isMember: boolean;
}

/** A construct that no statement may have. */
export class RefusedConstruct extends Error {
  readonly construct: string;
  readonly at: number;

  constructor(construct: string, at: number) {
    super(`The statement has ${construct}.`);
    this.name = 'RefusedConstruct';
    this.construct = construct;
    this.at = at;
  }
}

const BLANK = /[ \t\n\v\f\r]+/y;
// Two dashes begin a comment only before a blank or control character, or at the end.
// biome-ignore lint/suspicious/noControlCharactersInRegex: the server's lexer names them.
const LINE_COMMENT = /(?:--(?=[\x00-\x20\x7f]|$)|#)[^\n]*/y;
const WORD = /[A-Za-z0-9_$\u0080-\uffff]+/y;
const HEX_OR_BIT = /0(?:x[0-9a-f]+|b[01]+)(?![\w$\u0080-\uffff])/iy;
// The server ends a number where no digit can follow: `1e1into` is 1e1 and INTO.
const NUMBER = /\d+(?:\.\d*)?(?:e[+-]?\d+)?/iy;
// After one `@`. System variables, after two, are words.
const VARIABLE = /[A-Za-z0-9_.$]*/y;
// These hints change settings of the session.
const SETTING_HINT = /set_var|max_execution_time|resource_group/i;

/** Splits a statement as a MySQL or MariaDB server does. Throws a `RefusedConstruct` for text whose meaning depends on the server. */
export function tokenizeMysql(sql: string, mode: SqlMode): readonly MysqlToken[] {
  const tokens: MysqlToken[] = [];
  let at = 0;
  while (at < sql.length) {
    const next = endOfBlank(sql, at);
    if (next > at) {
      at = next;
      continue;
    }
    const token = readToken(sql, at, mode);
    const last = tokens.at(-1);
    tokens.push({ ...token, start: at, isMember: last?.text === '.' && last.kind === 'symbol' && last.end === at });
    at = token.end;
  }
  return tokens;
}

type TokenPart = Pick<MysqlToken, 'kind' | 'text' | 'end'>;

function readToken(sql: string, at: number, mode: SqlMode): TokenPart {
  const first = sql[at] as string;
  if (first === "'" || (first === '"' && !mode.ansiQuotes)) {
    const end = endOfQuoted(sql, at, !mode.noBackslashEscapes);
    return { kind: 'string', text: sql.slice(at, end), end };
  }
  if (first === '`' || first === '"') {
    const end = endOfQuoted(sql, at, false);
    return { kind: 'name', text: sql.slice(at + 1, end - 1).replaceAll(first + first, first), end };
  }
  if (first === '@') return readVariable(sql, at);
  // `\N` is NULL, and ends before any letter that follows.
  if (first === '\\') throw new RefusedConstruct('a backslash outside of strings', at);
  if (first >= '0' && first <= '9') {
    const end = match(HEX_OR_BIT, sql, at) ?? (match(NUMBER, sql, at) as number);
    return { kind: 'number', text: sql.slice(at, end), end };
  }
  const wordEnd = match(WORD, sql, at);
  if (wordEnd !== undefined) {
    // Newer servers begin strings with `$$`.
    if (first === '$') throw new RefusedConstruct('a name that begins with $', at);
    return { kind: 'word', text: sql.slice(at, wordEnd).toUpperCase(), end: wordEnd };
  }
  if (sql.startsWith(':=', at)) throw new RefusedConstruct('an assignment with :=', at);
  return { kind: 'symbol', text: first, end: at + 1 };
}

function readVariable(sql: string, at: number): TokenPart {
  const isSystem = sql[at + 1] === '@';
  const end = isSystem ? at + 2 : (match(VARIABLE, sql, at + 1) ?? at + 1);
  return { kind: 'variable', text: sql.slice(at, end), end };
}

/** Returns the end of blanks and comments that begin at a place; the place itself if there are none. */
function endOfBlank(sql: string, at: number): number {
  const end = match(BLANK, sql, at) ?? match(LINE_COMMENT, sql, at);
  if (end !== undefined) return end;
  if (!sql.startsWith('/*', at)) return at;
  // MySQL runs the text of the first form, MariaDB of both.
  if (/^(?:!|m!)/i.test(sql.slice(at + 2, at + 4))) throw new RefusedConstruct('a comment that servers execute', at);
  const close = sql.indexOf('*/', at + 2);
  if (close < 0) throw new RefusedConstruct('a comment without an end', at);
  if (sql[at + 2] === '+' && SETTING_HINT.test(sql.slice(at, close))) {
    throw new RefusedConstruct('a hint that changes settings', at);
  }
  return close + 2;
}

function endOfQuoted(sql: string, start: number, escapes: boolean): number {
  const quote = sql[start];
  for (let at = start + 1; at < sql.length; at++) {
    if (escapes && sql[at] === '\\') at++;
    else if (sql[at] === quote) {
      if (sql[at + 1] !== quote) return at + 1;
      at++;
    }
  }
  throw new RefusedConstruct('a quote without an end', start);
}

/** Returns the end of a match at exactly this place. */
function match(pattern: RegExp, text: string, at: number): number | undefined {
  pattern.lastIndex = at;
  const found = pattern.exec(text)?.[0];
  return found === undefined ? undefined : at + found.length;
}
