import type { IncomingHttpHeaders, RequestListener, ServerResponse } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import type { JsonObject } from '../../src/core/call.ts';
import { isObject } from '../../src/core/json.ts';
import { Failure, INVALID_PARAMS, type Offer } from './conformance-fixture.ts';
import { isHere } from './conformance-fixture-here.ts';
import type { answer, errorOf } from './conformance-fixture-modern.ts';

interface Served {
  readonly answer: typeof answer;
  readonly errorOf: typeof errorOf;
  readonly tools: () => readonly Offer[];
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

/** What every request says of its client. */
export function envelopeOf({ _meta }: JsonObject): { readonly meta: JsonObject; readonly capabilities: JsonObject } {
  const meta = isObject(_meta) ? _meta : {};
  const capabilities = meta[KEY('clientCapabilities')];
  if (typeof meta[KEY('protocolVersion')] !== 'string' || !isObject(capabilities)) {
    throw new Failure(INVALID_PARAMS, '`_meta` has to name the protocol version and what the client can do.');
  }
  return { meta, capabilities };
}

/** The face of the stateless fixture: as strict as the protocol lets a server be. */
export function modernHttp({ answer, errorOf, tools }: Served): RequestListener {
  return async (request, response) => {
    if (!isHere(request)) return void response.writeHead(403).end();
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const { id, method, params = {} } = JSON.parse(await readText(request));
    if (id === undefined) return void response.writeHead(202).end();
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    const reply = replyOn(response);
    let isInOrder = false;
    try {
      check(request.headers, method, params, tools());
      isInOrder = true;
      const result = await answer({ id, method, params }, { signal: gone.signal, notify: reply.notify });
      reply.end(200, { id, result });
    } catch (thrown) {
      const error = errorOf(thrown);
      reply.end(isInOrder ? (STATUS[error.code] ?? 200) : 400, { id, error });
    }
  };
}

/** One answer in JSON; with something said before it, a stream. */
function replyOn(response: ServerResponse) {
  const line = (message: JsonObject) => JSON.stringify({ jsonrpc: '2.0', ...message });
  const event = (message: JsonObject) => `event: message\ndata: ${line(message)}\n\n`;
  return {
    notify(method: string, params: JsonObject) {
      if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(event({ method, params }));
    },
    end(status: number, message: JsonObject) {
      if (response.headersSent) response.end(event(message));
      else response.writeHead(status, { 'content-type': 'application/json' }).end(line(message));
    },
  };
}

function check(...[headers, method, params, tools]: [IncomingHttpHeaders, string, JsonObject, readonly Offer[]]): void {
  const { meta } = envelopeOf(params);
  const requested = String(meta[KEY('protocolVersion')]);
  if (headers['mcp-protocol-version'] !== requested) throw mismatch('MCP-Protocol-Version');
  if (requested !== VERSION) {
    throw new Failure(UNSUPPORTED, 'There is no such version here.', { supported: [VERSION], requested });
  }
  if (headers['mcp-method'] !== method) throw mismatch('Mcp-Method');
  const field = Object.hasOwn(NAMED_BY, method) ? NAMED_BY[method] : undefined;
  if (field && decoded(headers['mcp-name']) !== params[field]) throw mismatch('Mcp-Name');
  if (method === 'tools/call') checkParameters(headers, params, tools);
}

/** Arguments that a tool wants in headers too have to be there, and be the same. */
function checkParameters(headers: IncomingHttpHeaders, params: JsonObject, tools: readonly Offer[]): void {
  const schema = tools.find(({ definition }) => definition.name === params.name)?.definition.inputSchema;
  const properties = isObject(schema) && isObject(schema.properties) ? schema.properties : {};
  const input = isObject(params.arguments) ? params.arguments : {};
  for (const [name, property] of Object.entries(properties)) {
    const suffix = isObject(property) ? property['x-mcp-header'] : undefined;
    if (typeof suffix !== 'string') continue;
    const value = input[name] ?? undefined;
    const header = decoded(headers[`mcp-param-${suffix.toLowerCase()}`]);
    if (header !== (value === undefined ? undefined : String(value))) throw mismatch(`Mcp-Param-${suffix}`);
  }
}

const mismatch = (name: string) => new Failure(MISMATCH, `${name} does not match the body.`);

/** What a header stands for: itself, unless it is wrapped in Base64, which then has to be right. */
function decoded(header: string | string[] | undefined): string | undefined {
  if (typeof header !== 'string') return undefined;
  const value = header.trim();
  const encoded = /^=\?base64\?(.*)\?=$/.exec(value)?.[1];
  if (encoded === undefined) return value;
  const bytes = Buffer.from(encoded, 'base64');
  if (bytes.toString('base64') !== encoded) throw mismatch('A header in Base64');
  return bytes.toString('utf8');
}
