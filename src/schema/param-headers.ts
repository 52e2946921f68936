import type { Json, JsonObject } from '../core/call.ts';
import { isObject } from '../core/json.ts';
import { headerValue } from '../core/text/header-value.ts';

interface MirroredParam {
  /** Header name in lower case. */
  readonly header: string;
  readonly value?: string | number | boolean | undefined;
}

interface HeaderAnnotation {
  readonly path: readonly string[];
  readonly header: string;
}

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const MIRRORED_TYPES: readonly unknown[] = ['string', 'integer', 'boolean'];
const NOT_SCHEMAS = new Set(['const', 'enum', 'default', 'examples', 'required']);
const cache = new WeakMap<JsonObject, readonly HeaderAnnotation[] | undefined>();

/** Returns the `Mcp-Param-*` headers that a call of a 2026-07-28 tool carries, encoded. */
export function paramHeaders(inputSchema: Json | undefined, args: JsonObject): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const { header, value } of mirroredParams(inputSchema, args)) {
    if (value !== undefined) headers[header] = headerValue(String(value));
  }
  return headers;
}

/**
 * Finds the first `Mcp-Param-*` header that does not repeat its argument. `headers` has lower-case names and decoded
 * values; null stands for a value that could not be decoded.
 */
export function findParamHeaderMismatch(
  headers: Readonly<Record<string, string | null>>,
  inputSchema: Json | undefined,
  args: JsonObject,
): string | undefined {
  const wrong = mirroredParams(inputSchema, args).find(({ header, value }) => !repeats(headers[header], value));
  return wrong?.header.replaceAll(/(^|-)./g, (letter) => letter.toUpperCase());
}

/** Tells whether a tool's `x-mcp-header` annotations are legal. A client must not list a tool for which they are not. */
export const hasLegalParamHeaders = (inputSchema: Json | undefined): boolean =>
  annotationsOf(inputSchema) !== undefined;

/** Returns each annotated header with the argument it repeats. Without a value the header must be absent. */
function mirroredParams(inputSchema: Json | undefined, args: JsonObject): readonly MirroredParam[] {
  return (annotationsOf(inputSchema) ?? []).map(({ path, header }) => {
    const value = path.reduce<Json | undefined>(
      (found, key) => (isObject(found) && Object.hasOwn(found, key) ? found[key] : undefined),
      args,
    );
    const isText = typeof value === 'string' || typeof value === 'boolean' || Number.isSafeInteger(value);
    return isText ? { header, value: value as MirroredParam['value'] } : { header };
  });
}

function repeats(header: string | null | undefined, value: MirroredParam['value']): boolean {
  if (header === undefined || value === undefined) return header === value;
  if (typeof value !== 'number') return header === String(value);
  return header !== null && /^-?\d+(\.0+)?$/.test(header) && Number(header) === value; // 42.0 equals 42.
}

/** Returns the annotations of a schema; undefined if one is misplaced or has an illegal name or type. */
function annotationsOf(schema: Json | undefined): readonly HeaderAnnotation[] | undefined {
  if (!isObject(schema)) return [];
  if (!cache.has(schema)) cache.set(schema, findAnnotations(schema)); // A definition object never changes.
  return cache.get(schema);
}

function findAnnotations(schema: JsonObject): readonly HeaderAnnotation[] | undefined {
  const found = new Map<string, HeaderAnnotation>();

  function isLegal(node: Json | undefined, path: readonly string[] | undefined): boolean {
    if (Array.isArray(node)) return node.every((one: Json) => isLegal(one, undefined));
    if (!isObject(node)) return true;
    const name = node['x-mcp-header'];
    if (name !== undefined && !add(name, node.type, path)) return false;
    return Object.entries(node).every(([key, value]) => {
      if (NOT_SCHEMAS.has(key)) return true;
      if (key !== 'properties' || !isObject(value)) return isLegal(value, undefined);
      return Object.entries(value).every(([property, child]) => isLegal(child, path && [...path, property]));
    });
  }

  /** `path` is undefined outside the chain of `properties`, where the argument's place is not certain. */
  function add(name: Json, type: Json | undefined, path: readonly string[] | undefined): boolean {
    if (!path || path.length === 0 || typeof name !== 'string' || !TOKEN.test(name)) return false;
    const key = name.toLowerCase();
    if (!MIRRORED_TYPES.includes(type) || found.has(key)) return false;
    found.set(key, { path, header: `mcp-param-${key}` });
    return true;
  }

  return isLegal(schema, []) ? [...found.values()] : undefined;
}
