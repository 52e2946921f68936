import type { CatalogKind, Json, JsonObject, Target } from '../../core/call.ts';
import type { Page } from '../../core/records/listing.ts';
import { cutText } from '../../core/text/cut-text.ts';
import { RpcError } from '../../wire/json-rpc.ts';
import { type Era, INVALID_PARAMS } from '../../wire/mcp.ts';
import { presentPrompt, presentResource, presentTemplate } from './present-resource.ts';
import { presentTool } from './present-tool.ts';

interface CachedList extends Page<Target> {
  readonly result: JsonObject;
}

/** Cache fields that forbid caching: what a caller may see can change at any moment. */
export const UNCACHED = { ttlMs: 0, cacheScope: 'private' };

const LISTED = {
  tool: { key: 'tools', present: presentTool },
  resource: { key: 'resources', present: presentResource },
  template: { key: 'resourceTemplates', present: presentTemplate },
  prompt: { key: 'prompts', present: presentPrompt },
} as const satisfies Record<CatalogKind, { key: string; present: (target: Target, era: Era) => JsonObject }>;

type ByTarget<T> = Readonly<Record<Era, WeakMap<Target, T>>>;

const presented: ByTarget<JsonObject> = { legacy: new WeakMap(), modern: new WeakMap() };
// The last page per first target. A cached page is used only if all its items are the same objects, so it is valid for
// any catalog and any caller.
const cachedLists: ByTarget<CachedList> = { legacy: new WeakMap(), modern: new WeakMap() };
const serialized = new WeakMap<JsonObject, Buffer | undefined>();
const shortLists = new WeakMap<JsonObject, { readonly max: number; readonly result: JsonObject }>();

/** Converts a page of the catalog to the result of `tools/list` and its like. Returns the same object while unchanged. */
export function toListResult({ items, next }: Page<Target>, era: Era, kind: CatalogKind = 'tool'): JsonObject {
  const [first] = items;
  const known = first && cachedLists[era].get(first);
  if (known && known.next === next && isSame(known.items, items)) return known.result;
  const result: JsonObject = {
    ...(era === 'modern' && { resultType: 'complete', ...UNCACHED }),
    [LISTED[kind].key]: items.map((target) => toItem(target, era, kind)),
    ...(next !== undefined && { nextCursor: toCursor(next) }),
  };
  serialized.set(result, undefined);
  if (first) cachedLists[era].set(first, { items, result, ...(next !== undefined && { next }) });
  return result;
}

/** Returns a list result with descriptions of at most `max` characters. Returns the same object while unchanged. */
export function withShortDescriptions(whole: JsonObject, max: number): JsonObject {
  const known = shortLists.get(whole);
  if (known?.max === max) return known.result;
  const result = Object.fromEntries(Object.entries(whole).map(([key, value]) => [key, withShortItems(value, max)]));
  serialized.set(result, undefined);
  shortLists.set(whole, { max, result });
  return result;
}

function withShortItems(value: Json | undefined, max: number): Json | undefined {
  if (!Array.isArray(value)) return value;
  return value.map((item: JsonObject) => {
    const { description } = item;
    const isLong = typeof description === 'string' && description.length > max;
    return isLong ? { ...item, description: cutText(description, max) } : item;
  });
}

/**
 * Returns the JSON of a list result, serialized once: it is large, and serializing it for each client costs garbage
 * collection. Returns undefined for any other result.
 */
export function bytesOf(result: JsonObject): Buffer | undefined {
  if (!serialized.has(result)) return undefined;
  const bytes = serialized.get(result) ?? Buffer.from(JSON.stringify(result));
  serialized.set(result, bytes);
  return bytes;
}

export function fromCursor(cursor: unknown): string | undefined {
  if (cursor === undefined) return undefined;
  const name = typeof cursor === 'string' ? Buffer.from(cursor, 'base64url').toString('utf8') : '';
  if (name === '' || toCursor(name) !== cursor) throw new RpcError(INVALID_PARAMS, 'The cursor is not valid.');
  return name;
}

const toCursor = (name: string) => Buffer.from(name, 'utf8').toString('base64url');

const isSame = (some: readonly Target[], others: readonly Target[]) =>
  some.length === others.length && some.every((target, index) => target === others[index]);

function toItem(target: Target, era: Era, kind: CatalogKind): JsonObject {
  const known = presented[era].get(target);
  if (known) return known;
  const item = LISTED[kind].present(target, era);
  presented[era].set(target, item);
  return item;
}
