import { quote } from '../tool-failure.ts';
import type { TableName } from './database.ts';
import { DatabaseFailure } from './database-failure.ts';

const CLOSING: Readonly<Record<string, string>> = { '"': '"', '`': '`', '[': ']' };

/**
 * Reads the name of a table: `orders`, `shop.orders`, `"Order Items"`, `"shop"."a.b"`. With a schema of its own only
 * the quotes are removed.
 */
export function parseTableName(text: string, schema: string | undefined): TableName {
  if (schema !== undefined) return { schema: unquoted(schema), table: unquoted(text) };
  const parts = partsOf(text);
  const [first = '', second] = parts;
  if (parts.length > 2 || parts.includes('')) {
    const message = `${quote(text)} is not the name of a table. Write \`table\` or \`schema.table\`.`;
    throw new DatabaseFailure('INPUT_INVALID', message);
  }
  return second === undefined ? { table: first } : { schema: first, table: second };
}

function unquoted(text: string): string {
  const parts = partsOf(text);
  return parts.length === 1 && parts[0] ? parts[0] : text;
}

/** Splits at the dots outside quotes. A doubled quote inside quotes is one character. */
function partsOf(text: string): readonly string[] {
  const parts: string[] = [];
  let at = 0;
  while (at <= text.length) {
    const { part, end } = CLOSING[text.charAt(at)] ? quotedPart(text, at) : plainPart(text, at);
    parts.push(part);
    at = end + 1;
  }
  return parts;
}

interface Part {
  readonly part: string;
  /** The position of the dot behind it, or the length of the text. */
  readonly end: number;
}

function plainPart(text: string, start: number): Part {
  const dot = text.indexOf('.', start);
  const end = dot < 0 ? text.length : dot;
  return { part: text.slice(start, end), end };
}

function quotedPart(text: string, start: number): Part {
  const closing = CLOSING[text.charAt(start)] ?? '';
  for (let at = text.indexOf(closing, start + 1); at >= 0; at = text.indexOf(closing, at + 2)) {
    if (text.charAt(at + 1) === closing) continue;
    const end = at + 1;
    // Text behind the closing quote: the whole is no quoted name.
    if (end < text.length && text.charAt(end) !== '.') break;
    return { part: text.slice(start + 1, at).replaceAll(closing + closing, closing), end };
  }
  return plainPart(text, start);
}
