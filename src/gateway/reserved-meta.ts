import { OUTCOME_META } from '../core/call/repeatable.ts';
import type { JsonObject } from '../core/call.ts';
import { isObject } from '../core/json.ts';
import { RESERVED_META_PREFIX } from '../wire/mcp.ts';

/**
 * Tests whether a `_meta` key is reserved. One of MCP concerns only the two peers of one connection; `dev.heddle/outcome`
 * is for built-in tools, and a client must not take that of another server for Heddle's.
 */
export const isReservedMetaKey = (key: string): boolean => key.startsWith(RESERVED_META_PREFIX) || key === OUTCOME_META;

/** Removes the reserved `_meta` keys from a server's result. Returns the same object if there are none. */
export function withoutReserved(value: JsonObject): JsonObject {
  const { _meta } = value;
  if (!isObject(_meta) || !Object.keys(_meta).some(isReservedMetaKey)) return value;
  const { _meta: _, ...rest } = value;
  const kept = Object.entries(_meta).filter(([key]) => !isReservedMetaKey(key));
  return kept.length === 0 ? rest : { ...rest, _meta: Object.fromEntries(kept) };
}
