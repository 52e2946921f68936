import type { JsonObject } from '../core/call.ts';
import { isObject } from '../core/json.ts';
import { RESERVED_META_PREFIX } from '../wire/mcp.ts';

/** Tests whether a `_meta` key is reserved by MCP. Such a key concerns only the two peers of one connection. */
export const isReservedMetaKey = (key: string): boolean => key.startsWith(RESERVED_META_PREFIX);

/** Removes the reserved `_meta` keys from a server's result. Returns the same object if there are none. */
export function withoutReserved(value: JsonObject): JsonObject {
  const { _meta } = value;
  if (!isObject(_meta) || !Object.keys(_meta).some(isReservedMetaKey)) return value;
  const { _meta: _, ...rest } = value;
  const kept = Object.entries(_meta).filter(([key]) => !isReservedMetaKey(key));
  return kept.length === 0 ? rest : { ...rest, _meta: Object.fromEntries(kept) };
}
