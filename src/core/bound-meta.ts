import type { JsonObject } from './call.ts';

/** The `_meta` key of the idempotency key of a step. */
export const IDEMPOTENCY_META = 'dev.heddle/idempotencyKey';

const MAX_ID_CHARS = 128;
// W3C asks that this much is passed on: 512 characters of `tracestate`, 8,192 of `baggage`.
const MAX_TRACESTATE_CHARS = 512;
const MAX_BAGGAGE_CHARS = 8192;

/**
 * The `_meta` keys that differ for two equal calls: trace context, and ids that known clients give each call, turn or
 * conversation. Only names with a prefix: a server may give a plain `itemId` a meaning. MCP's own keys and the progress
 * token never reach a server. Each has its longest value.
 */
const UNBOUND: ReadonlyMap<string, number> = new Map([
  ['traceparent', MAX_ID_CHARS],
  ['tracestate', MAX_TRACESTATE_CHARS],
  ['baggage', MAX_BAGGAGE_CHARS],
  [IDEMPOTENCY_META, MAX_ID_CHARS],
  ['claudecode/toolUseId', MAX_ID_CHARS],
  ['vscode.conversationId', MAX_ID_CHARS],
  ['vscode.requestId', MAX_ID_CHARS],
  ['ai.opencode/sessionID', MAX_ID_CHARS],
  ['antigravity.google/conversation_id', MAX_ID_CHARS],
]);

/** A `_meta` in two parts. A part without keys is absent. */
export interface SplitMeta {
  /** The keys that an approval covers, as it covers the arguments. */
  readonly bound?: JsonObject;
  readonly unbound?: JsonObject;
}

/** Separates trace context and ids of calls from the rest. A value that is no text, or is too long, is bound. */
export function splitMeta(meta: JsonObject = {}): SplitMeta {
  const { bound = [], unbound = [] } = Object.groupBy(Object.entries(meta), ([key, value]) =>
    typeof value === 'string' && value.length <= (UNBOUND.get(key) ?? -1) ? 'unbound' : 'bound',
  );
  return {
    ...(bound.length > 0 && { bound: Object.fromEntries(bound) }),
    ...(unbound.length > 0 && { unbound: Object.fromEntries(unbound) }),
  };
}
