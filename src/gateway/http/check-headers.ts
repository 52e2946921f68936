import type { IncomingHttpHeaders } from 'node:http';
import type { Call, Json, JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import { readHeaderValue } from '../../core/text/header-value.ts';
import { HEADER_MISMATCH, INVALID_PARAMS, META, MODERN_VERSION, UNSUPPORTED_VERSION } from '../../wire/mcp.ts';
import { nameParamOf } from '../../wire/name-param.ts';

/** An error response: HTTP status and JSON-RPC error. */
export interface RequestRefusal {
  readonly status: number;
  readonly code: number;
  readonly message: string;
  readonly data?: Json;
}

const VERSION_KEY = META.protocolVersion;

/** Tells whether a request is modern: `_meta` has the version key, or the header names 2026-07-28. */
export function isModern(headers: IncomingHttpHeaders, params: JsonObject): boolean {
  const meta = params._meta;
  return (isObject(meta) && VERSION_KEY in meta) || headers['mcp-protocol-version'] === MODERN_VERSION;
}

/** Checks the `_meta` of a modern request on any transport. Returns the refusal, if any. */
export function checkEnvelope({ _meta }: JsonObject): RequestRefusal | undefined {
  const meta = isObject(_meta) ? _meta : {};
  const requested = meta[VERSION_KEY];
  if (typeof requested !== 'string' || !isObject(meta[META.clientCapabilities])) return noEnvelope();
  if (requested === MODERN_VERSION) return undefined;
  const data = { supported: [MODERN_VERSION], requested };
  return { status: 400, code: UNSUPPORTED_VERSION, message: 'Unsupported protocol version.', data };
}

/** Checks that `MCP-Protocol-Version`, `Mcp-Method` and `Mcp-Name` agree with the body. Returns the refusal, if any. */
export function checkModernRequest(
  headers: IncomingHttpHeaders,
  method: string,
  params: JsonObject,
): RequestRefusal | undefined {
  const refusal = checkEnvelope(params);
  // If header and body name different versions, that mismatch is reported before an unsupported version.
  const requested = isObject(params._meta) ? params._meta[VERSION_KEY] : undefined;
  const versionsAgree = headers['mcp-protocol-version'] === requested;
  if (refusal && (refusal.code === INVALID_PARAMS || versionsAgree)) return refusal;
  if (!versionsAgree) return headerMismatch('MCP-Protocol-Version');
  if (headers['mcp-method'] !== method) return headerMismatch('Mcp-Method');
  const name = nameParamOf(method, params);
  return name !== undefined && decoded(headers['mcp-name']) !== name ? headerMismatch('Mcp-Name') : undefined;
}

const noEnvelope = (): RequestRefusal => ({
  status: 400,
  code: INVALID_PARAMS,
  message: '`_meta` has to name the protocol version and the capabilities of the client.',
});

const headerMismatch = (name: string): RequestRefusal => ({
  status: 400,
  code: HEADER_MISMATCH,
  message: `${name} does not match the body.`,
});

const NO_PARAM_HEADERS: NonNullable<Call['paramHeaders']> = {};

/** Collects and decodes the `Mcp-Param-*` headers. A value that cannot be decoded becomes null. */
export function paramHeadersOf(headers: IncomingHttpHeaders): NonNullable<Call['paramHeaders']> {
  let found: Record<string, string | null> | undefined;
  for (const name in headers) {
    if (!name.startsWith('mcp-param-')) continue;
    const value = headers[name];
    found ??= {};
    found[name] = decoded(value) ?? null;
  }
  return found ?? NO_PARAM_HEADERS;
}

function decoded(value: string | string[] | undefined): string | undefined {
  return typeof value === 'string' ? readHeaderValue(value) : undefined;
}
