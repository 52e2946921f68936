// A server without an SDK that sends exactly the messages of a script, in either era.
// `node mirror-server.ts <era>` serves stdio.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import type { JsonObject } from '../../src/core/call.ts';
import { type HttpServer, listen } from './http-servers.ts';

export type Era = 'legacy' | 'modern';

/** The notifications to send before the response, and the result of the response. */
export interface Script {
  readonly before: readonly { readonly method: string; readonly params: JsonObject }[];
  readonly result: JsonObject;
}

/** Encodes a script as text, so that no component in between interprets it. */
export const toText = (script: Script): string => Buffer.from(JSON.stringify(script)).toString('base64url');
const fromText = (encoded: unknown): Script => JSON.parse(Buffer.from(String(encoded), 'base64url').toString());
export const MIRROR_URI = 'mirror://x/';

const TOOLS = ['send', 'store', 'echo'].map((name) => ({ name, inputSchema: { type: 'object' } }));
const LISTS: Readonly<Record<string, JsonObject>> = {
  'tools/list': { tools: TOOLS },
  'resources/list': { resources: [] },
  'resources/templates/list': { resourceTemplates: [{ name: 'all', uriTemplate: `${MIRROR_URI}{which}` }] },
  'prompts/list': { prompts: ['send', 'echo'].map((name) => ({ name, arguments: [{ name: 'script' }] })) },
  ping: {},
  'logging/setLevel': {},
};
const CAPABILITIES = { tools: {}, resources: {}, prompts: {}, completions: {}, logging: {} };
const COMPLETE = { resultType: 'complete' };
const UNCACHED = { ttlMs: 0, cacheScope: 'private' };

interface Request {
  readonly id?: number;
  readonly method: string;
  readonly params?: JsonObject;
}

/** Returns the messages that answer one message, in order. */
function mirror(era: Era, { id, method, params = {} }: Request): readonly JsonObject[] {
  if (id === undefined) return [];
  const answer = (result: JsonObject) => [{ jsonrpc: '2.0', id, result }];
  const refuse = () => [{ jsonrpc: '2.0', id, error: { code: -32601, message: `${method} is not supported.` } }];
  const plain = LISTS[method];
  if (plain) return answer(era === 'modern' ? { ...COMPLETE, ...UNCACHED, ...plain } : plain);
  if (method === 'initialize' && era === 'legacy') {
    const { protocolVersion } = params;
    return answer({ protocolVersion, capabilities: CAPABILITIES, serverInfo: { name: 'mirror', version: '1' } });
  }
  if (method === 'server/discover' && era === 'modern') {
    return answer({ ...COMPLETE, ...UNCACHED, supportedVersions: ['2026-07-28'], capabilities: CAPABILITIES });
  }
  const script = scriptIn(method, params);
  if (!script) return refuse();
  const { progressToken } = (params._meta ?? {}) as JsonObject;
  const before = script.before.map(({ method, params }) => ({
    jsonrpc: '2.0',
    method,
    params: method === 'notifications/progress' ? { ...params, progressToken } : params,
  }));
  const caching = method === 'resources/read' ? UNCACHED : {};
  const { result } = script;
  return [...before, ...answer(era === 'modern' ? { ...COMPLETE, ...caching, ...result } : result)];
}

/** The script for the next `resources/read`. */
let stored: Script | undefined;

/** Returns the script of a request. `echo` returns the params of the request. */
function scriptIn(method: string, params: JsonObject): Script | undefined {
  const { name, uri, arguments: input } = params;
  const echo = (result: JsonObject) => ({ before: [], result: { ...result, received: params } });
  const { script } = (input ?? {}) as JsonObject;
  switch (method) {
    case 'tools/call':
      if (name === 'store') stored = fromText(script);
      return name === 'send' ? fromText(script) : echo({ content: [] });
    case 'resources/read':
      return uri === `${MIRROR_URI}stored` ? stored : echo({ contents: [] });
    case 'prompts/get':
      return name === 'send' ? fromText(script) : echo({ messages: [] });
    case 'completion/complete':
      return echo({ completion: { values: [] } });
    default:
      return undefined;
  }
}

/** Serves the mirror over HTTP: one message as JSON, several as an SSE stream. */
export function mirrorServer(era: Era): Promise<HttpServer> {
  return listen((request, response) => void answerPost(era, request, response));
}

async function answerPost(era: Era, request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method !== 'POST') {
    response.writeHead(405).end();
    return;
  }
  const messages = mirror(era, JSON.parse(await text(request)));
  const [only, ...more] = messages.map((message) => JSON.stringify(message));
  if (only === undefined) response.writeHead(202).end();
  else if (more.length === 0) response.writeHead(200, { 'content-type': 'application/json' }).end(only);
  else {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end([only, ...more].map((one) => `event: message\ndata: ${one}\n\n`).join(''));
  }
}

if (import.meta.main) {
  const era = process.argv[2] as Era;
  // readline also splits at other characters than the newline.
  let rest = '';
  for await (const chunk of process.stdin.setEncoding('utf8')) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      for (const message of mirror(era, JSON.parse(line))) process.stdout.write(`${JSON.stringify(message)}\n`);
    }
  }
}
