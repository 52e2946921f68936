import type { Json, JsonObject } from '../../core/call.ts';
import { parseJson } from '../../core/json.ts';
import { branchesOf, typesOf } from './declared-arguments.ts';
import { fitsSchema } from './fits-schema.ts';

/** A text for an argument: typed, or the contents of a file. */
export interface ArgumentText {
  readonly text: string;
  /** The file that the text was read from. */
  readonly file?: string | undefined;
}

/** The schema of an argument, and the schema that its references point into. */
export interface ArgumentSchema {
  readonly root: Json | undefined;
  readonly schema: Json | undefined;
}

/**
 * Converts a text to the value that a schema wants; undefined if there is none. Text that is valid as written stays text.
 * Otherwise JSON is parsed, and a list may be written with commas.
 */
export function coerce(given: ArgumentText, wanted: ArgumentSchema): Json | undefined {
  if (fitsSchema(wanted.root, wanted.schema, given.text)) return given.text;
  const literal = coerceLiteral(given.text, wanted);
  return literal === undefined ? coerceList([given], wanted) : literal;
}

/** Converts texts to one list; undefined if the schema wants no list, or an element does not fit. */
export function coerceList(texts: readonly ArgumentText[], { root, schema }: ArgumentSchema): Json | undefined {
  const list = branchesOf(root, schema).find((branch) => typesOf(branch).includes('array'));
  if (!list) return undefined;
  const parts = texts.flatMap(elementsOf);
  const elements = parts.map((part, at) => {
    if (typeof part !== 'string') return part.json;
    const wanted = { root, schema: elementSchema(list, at) };
    return fitsSchema(root, wanted.schema, part) ? part : coerceLiteral(part, wanted);
  });
  return elements.every((element) => element !== undefined) ? elements : undefined;
}

/** Parses a number, `true`, `false`, `null`, an object or a list, if the schema accepts it. Long numbers keep their digits. */
function coerceLiteral(text: string, { root, schema }: ArgumentSchema): Json | undefined {
  const value = readLiteral(text);
  return value !== undefined && fitsSchema(root, schema, value) ? value : undefined;
}

function readLiteral(text: string): Json | undefined {
  if (!/^\s*(?:[-\d[{]|(?:true|false|null)\s*$)/.test(text)) return undefined;
  try {
    return parseJson(text, { numbers: 'exact' });
  } catch {
    return undefined;
  }
}

/** An element that was written as JSON: it is sent as it is. */
interface JsonElement {
  readonly json: Json;
}

/** Returns the elements of a list in a text: those of a JSON list, else the parts between commas. A file's text is not split. */
function elementsOf({ text, file }: ArgumentText): readonly (string | JsonElement)[] {
  const value = readLiteral(text);
  if (Array.isArray(value)) return value.map((json: Json) => ({ json }));
  if (file !== undefined) return [text];
  return text.trim() === '' ? [] : text.split(',').map((part) => part.trim());
}

function elementSchema({ prefixItems, items }: JsonObject, at: number): Json | undefined {
  const tuple = Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : [];
  return (tuple as readonly Json[])[at] ?? (Array.isArray(items) ? undefined : items);
}
