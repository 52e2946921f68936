import type { JsonObject } from '../core/call.ts';

const NAMED_BY: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
};

/** Returns the value of the `Mcp-Name` header of a 2026-07-28 request; undefined for methods without one. */
export function nameParamOf(method: string, params: JsonObject | undefined): string | undefined {
  const field = Object.hasOwn(NAMED_BY, method) ? NAMED_BY[method] : undefined;
  const name = field && params?.[field];
  return typeof name === 'string' ? name : undefined;
}
