import type { JsonObject } from '../src/core/call.ts';
import { JSON_HEADERS, modern } from '../src/gateway/fixtures.ts';

export type Headers = Readonly<Record<string, string>>;

/** The bytes of a request, as a client sends them. */
export function requestOf(method: string, headers: Headers, body = ''): string {
  const fields = Object.entries({ host: 'localhost', ...JSON_HEADERS, ...headers });
  return `${method} /mcp HTTP/1.1\r\n${fields.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`;
}

/** A message, posted with its length. */
export function posting(message: JsonObject, headers: Headers = {}): string {
  const body = JSON.stringify({ jsonrpc: '2.0', ...message });
  return requestOf('POST', { ...headers, 'content-length': String(Buffer.byteLength(body)) }, body);
}

/** One that is answered by the gateway itself. */
export const ping = (id: number, headers: Headers = {}, params: JsonObject = {}) =>
  posting({ id, method: 'ping', params }, headers);
/** A call of a tool of the server `up`. */
export const calling = (name: string, headers: Headers = {}) => {
  const [message, own] = modern('tools/call', { name: `mcp__up__${name}` });
  return posting(message, { ...own, ...headers });
};
