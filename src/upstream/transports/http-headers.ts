import type { JsonObject } from '../../core/call.ts';
import { headerValue } from '../../core/text/header-value.ts';
import { META } from '../../wire/mcp.ts';
import { nameParamOf } from '../../wire/name-param.ts';

/** Returns the headers that a 2026-07-28 server compares with the body; none for a legacy message. */
export function headersOfBody(method: string, params: JsonObject | undefined): Record<string, string> {
  const version = (params?._meta as JsonObject | undefined)?.[META.protocolVersion];
  if (typeof version !== 'string') return {};
  const headers: Record<string, string> = { 'mcp-protocol-version': version, 'mcp-method': method };
  const name = nameParamOf(method, params);
  if (name !== undefined) headers['mcp-name'] = headerValue(name);
  return headers;
}
