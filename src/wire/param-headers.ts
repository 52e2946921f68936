import type { Json, JsonObject } from '../core/call.ts';
import { isObject } from '../core/json.ts';
import { headerValue } from './header-value.ts';

export interface MirroredParam {
  /** In small letters. */
  readonly header: string;
  readonly value?: string | number | boolean | undefined;
}

interface Mirrored {
  readonly path: readonly string[];
  readonly header: string;
}

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const MIRRORED_TYPES: readonly unknown[] = ['string', 'integer', 'boolean'];
const NOT_SCHEMAS = new Set(['const', 'enum', 'default', 'examples', 'required']);
const known = new WeakMap<JsonObject, readonly Mirrored[] | undefined>();

/** The arguments that a 2026-07-28 tool wants repeated as `Mcp-Param-…` headers. */
export function paramHeaders(inputSchema: Json | undefined, args: JsonObject): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const { header, value } of mirroredParams(inputSchema, args)) {
    if (value !== undefined) headers[header] = headerValue(String(value));
  }
  return headers;
}

/** Each header that a tool wants, and the argument it repeats; without a value where it has to be absent. */
export function mirroredParams(inputSchema: Json | undefined, args: JsonObject): readonly MirroredParam[] {
  return (mirroredBy(inputSchema) ?? []).map(({ path, header }) => {
    const value = path.reduce<Json | undefined>(
      (found, key) => (isObject(found) && Object.hasOwn(found, key) ? found[key] : undefined),
      args,
    );
    const isText = typeof value === 'string' || typeof value === 'boolean' || Number.isSafeInteger(value);
    return isText ? { header, value: value as MirroredParam['value'] } : { header };
  });
}

/** Whether a tool says in a legal way which arguments to repeat. Else a client must not offer it. */
export const hasLegalParamHeaders = (inputSchema: Json | undefined): boolean => mirroredBy(inputSchema) !== undefined;

/** Undefined when an annotation is where none may be, or says what none may say. */
function mirroredBy(schema: Json | undefined): readonly Mirrored[] | undefined {
  if (!isObject(schema)) return [];
  if (!known.has(schema)) known.set(schema, findMirrored(schema)); // Definitions never change, and calls are many.
  return known.get(schema);
}

function findMirrored(schema: JsonObject): readonly Mirrored[] | undefined {
  const found = new Map<string, Mirrored>();

  function isLegal(node: Json | undefined, path: readonly string[] | undefined): boolean {
    if (Array.isArray(node)) return node.every((one: Json) => isLegal(one, undefined));
    if (!isObject(node)) return true;
    const name = node['x-mcp-header'];
    if (name !== undefined && !take(name, node.type, path)) return false;
    return Object.entries(node).every(([key, value]) => {
      if (NOT_SCHEMAS.has(key)) return true;
      if (key !== 'properties' || !isObject(value)) return isLegal(value, undefined);
      return Object.entries(value).every(([property, child]) => isLegal(child, path && [...path, property]));
    });
  }

  /** `path` is undefined off the chain of `properties`, where the argument could not be found for certain. */
  function take(name: Json, type: Json | undefined, path: readonly string[] | undefined): boolean {
    if (!path || path.length === 0 || typeof name !== 'string' || !TOKEN.test(name)) return false;
    const key = name.toLowerCase();
    if (!MIRRORED_TYPES.includes(type) || found.has(key)) return false;
    found.set(key, { path, header: `mcp-param-${key}` });
    return true;
  }

  return isLegal(schema, []) ? [...found.values()] : undefined;
}
