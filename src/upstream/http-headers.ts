import type { Json, JsonObject } from '../core/call.ts';
import { isObject } from '../core/json.ts';

export const PROTOCOL_VERSION_KEY = 'io.modelcontextprotocol/protocolVersion';

const NAMED_BY: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
};

/** The headers a 2026-07-28 server checks against the body. A message without an envelope gets none. */
export function headersOfBody(method: string, params: JsonObject | undefined): Record<string, string> {
  const version = (params?._meta as JsonObject | undefined)?.[PROTOCOL_VERSION_KEY];
  if (typeof version !== 'string') return {};
  const headers: Record<string, string> = { 'mcp-protocol-version': version, 'mcp-method': method };
  const field = Object.hasOwn(NAMED_BY, method) ? NAMED_BY[method] : undefined;
  const name = field && params?.[field];
  if (typeof name === 'string') headers['mcp-name'] = headerValue(name);
  return headers;
}

/** Plain where HTTP allows it, otherwise the `=?base64?…?=` form of SEP-2243. */
export function headerValue(text: string): string {
  const plain = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text);
  const looksEncoded = text.startsWith('=?base64?') && text.endsWith('?=');
  return plain && !looksEncoded ? text : `=?base64?${Buffer.from(text, 'utf8').toString('base64')}?=`;
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
  for (const { path, header } of mirroredBy(inputSchema) ?? []) {
    const value = path.reduce<Json | undefined>(
      (found, key) => (isObject(found) && Object.hasOwn(found, key) ? found[key] : undefined),
      args,
    );
    const isText = typeof value === 'string' || typeof value === 'boolean' || Number.isSafeInteger(value);
    if (isText) headers[header] = headerValue(String(value));
  }
  return headers;
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
