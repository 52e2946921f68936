import type { IncomingHttpHeaders, RequestListener, ServerResponse } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import type { JsonObject } from '../../src/core/call.ts';
import { isObject } from '../../src/core/json.ts';
import { type Entry, Failure, INVALID_PARAMS } from './conformance-fixture.ts';
import { isLocalRequest } from './conformance-fixture-host.ts';
import type { handleRequest, toRpcError } from './conformance-fixture-modern.ts';

interface Handlers {
  readonly handleRequest: typeof handleRequest;
  readonly toRpcError: typeof toRpcError;
  readonly tools: () => readonly Entry[];
}

export const VERSION = '2026-07-28';
export const KEY = (name: string) => `io.modelcontextprotocol/${name}`;
const MISMATCH = -32020;
const UNSUPPORTED = -32022;
const STATUS: Readonly<Record<number, number>> = { [-32601]: 404, [MISMATCH]: 400, [-32021]: 400, [UNSUPPORTED]: 400 };
const NAMED_BY: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
};

/** Returns the `_meta` and the client capabilities of a request. */
export function envelopeOf({ _meta }: JsonObject): { readonly meta: JsonObject; readonly capabilities: JsonObject } {
  const meta = isObject(_meta) ? _meta : {};
  const capabilities = meta[KEY('clientCapabilities')];
  if (typeof meta[KEY('protocolVersion')] !== 'string' || !isObject(capabilities)) {
    throw new Failure(INVALID_PARAMS, '`_meta` must have the protocol version and the client capabilities.');
  }
  return { meta, capabilities };
}

/** Serves the modern fixture over HTTP. It rejects everything that the protocol lets a server reject. */
export function modernHttp({ handleRequest, toRpcError, tools }: Handlers): RequestListener {
  return async (request, response) => {
    if (!isLocalRequest(request)) return void response.writeHead(403).end();
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const { id, method, params = {} } = JSON.parse(await readText(request));
    if (id === undefined) return void response.writeHead(202).end();
    const controller = new AbortController();
    response.once('close', () => controller.abort());
    const reply = replyOn(response);
    let isValid = false;
    try {
      checkHeaders(request.headers, method, params, tools());
      isValid = true;
      const result = await handleRequest({ id, method, params }, { signal: controller.signal, notify: reply.notify });
      reply.end(200, { id, result });
    } catch (thrown) {
      const error = toRpcError(thrown);
      reply.end(isValid ? (STATUS[error.code] ?? 200) : 400, { id, error });
    }
  };
}

/** Writes one JSON response, or an SSE stream if a notification precedes it. */
function replyOn(response: ServerResponse) {
  const encode = (message: JsonObject) => JSON.stringify({ jsonrpc: '2.0', ...message });
  const event = (message: JsonObject) => `event: message\ndata: ${encode(message)}\n\n`;
  return {
    notify(method: string, params: JsonObject) {
      if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(event({ method, params }));
    },
    end(status: number, message: JsonObject) {
      if (response.headersSent) response.end(event(message));
      else response.writeHead(status, { 'content-type': 'application/json' }).end(encode(message));
    },
  };
}

function checkHeaders(
  ...[headers, method, params, tools]: [IncomingHttpHeaders, string, JsonObject, readonly Entry[]]
): void {
  const { meta } = envelopeOf(params);
  const requested = String(meta[KEY('protocolVersion')]);
  if (headers['mcp-protocol-version'] !== requested) throw mismatch('MCP-Protocol-Version');
  if (requested !== VERSION) {
    throw new Failure(UNSUPPORTED, 'The protocol version is not supported.', { supported: [VERSION], requested });
  }
  if (headers['mcp-method'] !== method) throw mismatch('Mcp-Method');
  const field = Object.hasOwn(NAMED_BY, method) ? NAMED_BY[method] : undefined;
  if (field && decodeHeader(headers['mcp-name']) !== params[field]) throw mismatch('Mcp-Name');
  if (method === 'tools/call') checkParameters(headers, params, tools);
}

/** Checks that every `x-mcp-header` argument equals its `Mcp-Param-*` header. */
function checkParameters(headers: IncomingHttpHeaders, params: JsonObject, tools: readonly Entry[]): void {
  const schema = tools.find(({ definition }) => definition.name === params.name)?.definition.inputSchema;
  const properties = isObject(schema) && isObject(schema.properties) ? schema.properties : {};
  const input = isObject(params.arguments) ? params.arguments : {};
  for (const [name, property] of Object.entries(properties)) {
    const suffix = isObject(property) ? property['x-mcp-header'] : undefined;
    if (typeof suffix !== 'string') continue;
    const value = input[name] ?? undefined;
    const header = decodeHeader(headers[`mcp-param-${suffix.toLowerCase()}`]);
    if (header !== (value === undefined ? undefined : String(value))) throw mismatch(`Mcp-Param-${suffix}`);
  }
}

const mismatch = (name: string) => new Failure(MISMATCH, `${name} does not match the body.`);

/** Decodes a header value. A Base64 form that is not canonical is a mismatch. */
function decodeHeader(header: string | string[] | undefined): string | undefined {
  if (typeof header !== 'string') return undefined;
  const value = header.trim();
  const encoded = /^=\?base64\?(.*)\?=$/.exec(value)?.[1];
  if (encoded === undefined) return value;
  const bytes = Buffer.from(encoded, 'base64');
  if (bytes.toString('base64') !== encoded) throw mismatch('A header in Base64');
  return bytes.toString('utf8');
}
