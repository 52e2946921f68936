import type { JsonObject } from '../src/core/call.ts';
import { JSON_HEADERS, modern } from '../src/gateway/fixtures.ts';

export type Headers = Readonly<Record<string, string>>;

/** Returns the text of an HTTP request. */
export function requestOf(method: string, headers: Headers, body = ''): string {
  const fields = Object.entries({ host: 'localhost', ...JSON_HEADERS, ...headers });
  return `${method} /mcp HTTP/1.1\r\n${fields.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`;
}

/** Returns a POST request of one JSON-RPC message, with `Content-Length`. */
export function posting(message: JsonObject, headers: Headers = {}): string {
  const body = JSON.stringify({ jsonrpc: '2.0', ...message });
  return requestOf('POST', { ...headers, 'content-length': String(Buffer.byteLength(body)) }, body);
}

/** Returns a POST request of a `ping`, which the gateway answers itself. */
export const ping = (id: number, headers: Headers = {}, params: JsonObject = {}) =>
  posting({ id, method: 'ping', params }, headers);
/** Returns a POST request of a `tools/call` to the server `up`. */
export const calling = (name: string, headers: Headers = {}) => {
  const [message, own] = modern('tools/call', { name: `mcp__up__${name}` });
  return posting(message, { ...own, ...headers });
};
