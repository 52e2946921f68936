import { parse } from 'smol-toml';

/** One `[table]` line or one `key = value`, and where in the text it is. */
export interface Statement {
  readonly kind: 'table' | 'pair';
  /** The table it stands in. */
  readonly table: readonly string[];
  /** Its whole name, the table's included. */
  readonly path: readonly string[];
  readonly start: number;
  /** After the last character of it, before a comment or the end of the line. */
  readonly end: number;
  /** Where the value begins, in a pair. */
  readonly value: number;
}

/** The statements of a text that is known to be TOML: comments and layout are what lies between them. */
export function tomlStatements(text: string): readonly Statement[] {
  const statements: Statement[] = [];
  let table: readonly string[] = [];
  let lists = 0;
  let at = skipGap(text, 0);
  while (at < text.length) {
    const start = at;
    if (text[at] === '[') {
      const list = text[at + 1] === '[';
      const { path, end } = readKey(text, at + (list ? 2 : 1));
      // Each entry of a list of tables is a place of its own, which no plain name leads to.
      table = list ? [...path, `[${lists++}]`] : path;
      at = text.indexOf(']', end) + (list ? 2 : 1);
      statements.push({ kind: 'table', table, path: table, start, end: at, value: at });
    } else {
      const { path, end } = readKey(text, at);
      const value = skipSpace(text, text.indexOf('=', end) + 1);
      at = endOfValue(text, value);
      statements.push({ kind: 'pair', table, path: [...table, ...path], start, end: at, value });
    }
    at = skipGap(text, at);
  }
  return statements;
}

const skipSpace = (text: string, at: number) => at + (/^[ \t]*/.exec(text.slice(at))?.[0].length ?? 0);
const endOfLine = (text: string, at: number) => (text.indexOf('\n', at) < 0 ? text.length : text.indexOf('\n', at));

function skipGap(text: string, from: number): number {
  let at = from;
  while (at < text.length && /[\s#\uFEFF]/.test(text[at] ?? '')) at = text[at] === '#' ? endOfLine(text, at) : at + 1;
  return at;
}

function readKey(text: string, from: number): { readonly path: readonly string[]; readonly end: number } {
  const path: string[] = [];
  let at = from;
  do {
    at = skipSpace(text, at);
    const quoted = text[at] === '"' || text[at] === "'";
    const end = quoted ? endOfString(text, at) : at + (/^[^\s.=\]]*/.exec(text.slice(at))?.[0].length ?? 0);
    const written = text.slice(at, end);
    path.push(quoted ? String(parse(`key = ${written}`).key) : written);
    at = skipSpace(text, end);
  } while (text[at++] === '.');
  return { path, end: at - 1 };
}

function endOfString(text: string, from: number): number {
  const quote = text[from] ?? '';
  const delimiter = text.startsWith(quote.repeat(3), from) ? quote.repeat(3) : quote;
  let at = from + delimiter.length;
  while (at < text.length && !text.startsWith(delimiter, at)) at += quote === '"' && text[at] === '\\' ? 2 : 1;
  at += delimiter.length;
  // Up to two quotes may belong to a long string's content, just before its end.
  while (delimiter.length === 3 && text[at] === quote) at++;
  return at;
}

function endOfValue(text: string, from: number): number {
  let depth = 0;
  let end = from;
  for (let at = from; at < text.length; ) {
    const one = text[at] ?? '';
    if (depth === 0 && (one === '\n' || one === '#')) break;
    depth += DEPTHS[one] ?? 0;
    at = pastToken(text, at);
    if (!/\s/.test(one)) end = at;
  }
  return end;
}

const DEPTHS: Readonly<Record<string, number>> = { '[': 1, '{': 1, ']': -1, '}': -1 };

function pastToken(text: string, at: number): number {
  const one = text[at];
  if (one === '"' || one === "'") return endOfString(text, at);
  return one === '#' ? endOfLine(text, at) : at + 1;
}
