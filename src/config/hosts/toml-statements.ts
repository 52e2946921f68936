import { parse } from 'smol-toml';

/** A `[table]` line or a `key = value` of a text, with its offsets. */
export interface TomlStatement {
  readonly kind: 'table' | 'pair';
  /** The path of its table. */
  readonly table: readonly string[];
  /** Its whole path, the table's included. */
  readonly path: readonly string[];
  readonly start: number;
  /** The offset after its last character, before a comment or the end of the line. */
  readonly end: number;
  /** The offset of the value, in a pair. */
  readonly value: number;
}

/** Splits a valid TOML text into statements. Comments and layout lie between them. */
export function tomlStatements(text: string): readonly TomlStatement[] {
  const statements: TomlStatement[] = [];
  let table: readonly string[] = [];
  let lists = 0;
  let at = skipGap(text, 0);
  while (at < text.length) {
    const start = at;
    if (text[at] === '[') {
      const list = text[at + 1] === '[';
      const { path, end } = readKey(text, at + (list ? 2 : 1));
      // Each item of an array of tables gets a path that no plain name can equal.
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
  // A multi-line string may end with up to two quotes of content.
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
