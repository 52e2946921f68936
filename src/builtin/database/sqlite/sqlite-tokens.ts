/** A token of a statement: comments and white space are left out. `at` counts characters from 0. */
export interface SqliteToken {
  readonly kind: 'word' | 'quoted' | 'parameter' | 'other';
  readonly text: string;
  readonly at: number;
}

/** Characters of identifiers: SQLite takes every character beyond ASCII as one. */
const ID = '[\\w$\\u0080-\\uffff]';

// The rules of SQLite's tokenizer. A literal or comment without its end reaches to the end of the text.
const TOKEN = new RegExp(
  [
    '(?<skipped>[ \\t\\n\\f\\r]+|--[^\\n]*|/\\*[^]*?(?:\\*/|$))',
    `(?<quoted>'[^']*(?:''[^']*)*(?:'|$)|"[^"]*(?:""[^"]*)*(?:"|$)|\`[^\`]*(?:\`\`[^\`]*)*(?:\`|$)|\\[[^\\]]*(?:\\]|$))`,
    `(?<parameter>\\?\\d*|[:@#$](?:${ID}|::)+(?:\\([^\\s)]*\\)?)?)`,
    `(?<number>\\.?\\d(?:[eE][+-]\\d|[\\w.])*)`,
    `(?<word>[A-Za-z_\\u0080-\\uffff]${ID}*)`,
    '(?<other>[^])',
  ].join('|'),
  'y',
);

/** Splits a statement into tokens as SQLite does, in linear time. */
export function* sqliteTokens(sql: string): Generator<SqliteToken> {
  const pattern = new RegExp(TOKEN);
  for (let at = 0; at < sql.length; at = pattern.lastIndex) {
    const match = pattern.exec(sql);
    if (!match) return;
    const { skipped, quoted, parameter, word } = match.groups ?? {};
    if (skipped !== undefined) continue;
    const kind = quoted !== undefined ? 'quoted' : parameter !== undefined ? 'parameter' : word ? 'word' : 'other';
    yield { kind, text: match[0], at };
  }
}

/** Returns the parameters of a statement by number: undefined for one without a name. Numbers begin with 1. */
export function parametersOf(tokens: Iterable<SqliteToken>): readonly (string | undefined)[] {
  const names: (string | undefined)[] = [];
  const known = new Set<string>();
  for (const { kind, text } of tokens) {
    if (kind !== 'parameter') continue;
    if (text === '?') names.push(undefined);
    else if (text.startsWith('?')) {
      const number = Math.min(Number(text.slice(1)), TOO_MANY);
      while (names.length < number) names.push(undefined);
    } else if (!known.has(text)) {
      known.add(text);
      names.push(text);
    }
    if (names.length >= TOO_MANY) break;
  }
  return names;
}

/** SQLite allows one parameter less. */
const TOO_MANY = 32_767;
