import type { JsonObject } from '../core/call.ts';
import { isObject } from '../core/json.ts';
import { RESERVED_META_PREFIX } from '../wire/mcp.ts';

/** Whether a key of `_meta` is between two neighbours, and means nothing to whoever comes after them. */
export const isReservedMetaKey = (key: string): boolean => key.startsWith(RESERVED_META_PREFIX);

/** What a server answered, without what it said to us alone; the very same where there is nothing of that. */
export function withoutReserved(value: JsonObject): JsonObject {
  const { _meta } = value;
  if (!isObject(_meta) || !Object.keys(_meta).some(isReservedMetaKey)) return value;
  const { _meta: _, ...rest } = value;
  const kept = Object.entries(_meta).filter(([key]) => !isReservedMetaKey(key));
  return kept.length === 0 ? rest : { ...rest, _meta: Object.fromEntries(kept) };
}
