import type { JsonObject } from '../core/call.ts';
import { headerValue } from '../wire/header-value.ts';

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
