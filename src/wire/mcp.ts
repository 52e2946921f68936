/** The protocol version of the modern era. */
export const MODERN_VERSION = '2026-07-28';

/** The protocol versions of the legacy era, newest first. */
export const LEGACY_VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const;

/** All protocol versions that Heddle speaks, newest first. */
export const PROTOCOL_VERSIONS = [MODERN_VERSION, ...LEGACY_VERSIONS] as const;

export type ProtocolVersion = (typeof PROTOCOL_VERSIONS)[number];

/** The only protocol version with JSON-RPC batches. */
export const BATCH_VERSION: ProtocolVersion = '2025-03-26';

/** The only protocol version whose clients expect a first SSE event with an id and no data. */
export const PRIMED_STREAM_VERSION: ProtocolVersion = '2025-11-25';

/** The only protocol version without a `completions` capability: its servers may complete without declaring it. */
export const UNDECLARED_COMPLETION_VERSION: ProtocolVersion = '2024-11-05';

/** 2026-07-28 is `modern`: stateless, every request carries version and capabilities. Earlier versions are `legacy`. */
export type Era = 'legacy' | 'modern';

/** Prefix of the `_meta` keys that MCP defines. They concern only the two peers of one connection. */
export const RESERVED_META_PREFIX = 'io.modelcontextprotocol/';

/** The `_meta` keys that MCP defines. */
export const META = {
  protocolVersion: 'io.modelcontextprotocol/protocolVersion',
  clientInfo: 'io.modelcontextprotocol/clientInfo',
  clientCapabilities: 'io.modelcontextprotocol/clientCapabilities',
  logLevel: 'io.modelcontextprotocol/logLevel',
  serverInfo: 'io.modelcontextprotocol/serverInfo',
  subscriptionId: 'io.modelcontextprotocol/subscriptionId',
  relatedTask: 'io.modelcontextprotocol/related-task',
} as const;

/** The capability extension by which client or server declares that it supports tasks. */
export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks';

// Error codes of JSON-RPC 2.0. -32000 is the first of its codes for server errors.
export const PARSE_ERROR = -32700;
export const INVALID_REQUEST = -32600;
export const METHOD_NOT_FOUND = -32601;
export const INVALID_PARAMS = -32602;
export const INTERNAL_ERROR = -32603;
export const SERVER_ERROR = -32000;

// Error codes of MCP.
export const SESSION_NOT_FOUND = -32001;
export const RESOURCE_NOT_FOUND = -32002;
export const HEADER_MISMATCH = -32020;
export const MISSING_CAPABILITY = -32021;
export const UNSUPPORTED_VERSION = -32022;
export const URL_ELICITATION_REQUIRED = -32042;
