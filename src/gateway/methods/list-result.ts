import type { JsonObject, Target, TargetKind } from '../../core/call.ts';
import type { Page } from '../../core/records/listing.ts';
import { RpcError } from '../../wire/json-rpc.ts';
import { type Era, INVALID_PARAMS } from '../../wire/mcp.ts';
import { presentPrompt, presentResource, presentTemplate } from './present-resource.ts';
import { presentTool } from './present-tool.ts';

interface Listing extends Page<Target> {
  readonly answer: JsonObject;
}

/** Ask again each time: what a caller may see can change at any moment. */
export const UNCACHED = { ttlMs: 0, cacheScope: 'private' };

const LISTED = {
  tool: { key: 'tools', present: presentTool },
  resource: { key: 'resources', present: presentResource },
  template: { key: 'resourceTemplates', present: presentTemplate },
  prompt: { key: 'prompts', present: presentPrompt },
} as const satisfies Record<TargetKind, { key: string; present: (target: Target, era: Era) => JsonObject }>;

type ByTarget<T> = Readonly<Record<Era, WeakMap<Target, T>>>;

const presented: ByTarget<JsonObject> = { legacy: new WeakMap(), modern: new WeakMap() };
// The last page that began with a target. It is compared item by item, so it is right whatever the catalog and the
// caller: a page that has the same tools is the same page.
const listings: ByTarget<Listing> = { legacy: new WeakMap(), modern: new WeakMap() };
const written = new WeakMap<JsonObject, Buffer | undefined>();

/** A page of the catalog as `tools/list` and its like give it; the same object as long as nothing on it has changed. */
export function toListResult({ items, next }: Page<Target>, era: Era, kind: TargetKind = 'tool'): JsonObject {
  const [first] = items;
  const known = first && listings[era].get(first);
  if (known && known.next === next && isSame(known.items, items)) return known.answer;
  const answer: JsonObject = {
    ...(era === 'modern' && { resultType: 'complete', ...UNCACHED }),
    [LISTED[kind].key]: items.map((target) => toItem(target, era)),
    ...(next !== undefined && { nextCursor: toCursor(next) }),
  };
  written.set(answer, undefined);
  if (first) listings[era].set(first, { items, answer, ...(next !== undefined && { next }) });
  return answer;
}

/**
 * The JSON of a listing, written once and kept: it is large and always the same,
 * and copying it for each client keeps the collector busy. Undefined for anything else.
 */
export function bytesOf(result: JsonObject): Buffer | undefined {
  if (!written.has(result)) return undefined;
  const bytes = written.get(result) ?? Buffer.from(JSON.stringify(result));
  written.set(result, bytes);
  return bytes;
}

export function fromCursor(cursor: unknown): string | undefined {
  if (cursor === undefined) return undefined;
  const name = typeof cursor === 'string' ? Buffer.from(cursor, 'base64url').toString('utf8') : '';
  if (name === '' || toCursor(name) !== cursor) throw new RpcError(INVALID_PARAMS, 'The cursor is not one of ours.');
  return name;
}

const toCursor = (name: string) => Buffer.from(name, 'utf8').toString('base64url');

const isSame = (some: readonly Target[], others: readonly Target[]) =>
  some.length === others.length && some.every((target, index) => target === others[index]);

function toItem(target: Target, era: Era): JsonObject {
  const known = presented[era].get(target);
  if (known) return known;
  const item = LISTED[target.kind].present(target, era);
  presented[era].set(target, item);
  return item;
}
