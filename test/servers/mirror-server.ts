// A raw server of either era that says exactly what it is given to say: `node mirror-server.ts <era>` speaks it over stdio.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import type { JsonObject } from '../../src/core/call.ts';
import { type HttpServer, listen } from './http-servers.ts';

export type Era = 'legacy' | 'modern';

/** What it is to say, as JSON, before its answer and as its answer. */
export interface Script {
  readonly before: readonly { readonly method: string; readonly params: JsonObject }[];
  readonly result: JsonObject;
}

/** Scripts travel as text, so that nobody on the way takes them for anything. */
export const toText = (script: Script): string => Buffer.from(JSON.stringify(script)).toString('base64url');
const fromText = (said: unknown): Script => JSON.parse(Buffer.from(String(said), 'base64url').toString());
export const MIRROR_URI = 'mirror://x/';

const TOOLS = ['say', 'keep', 'hear'].map((name) => ({ name, inputSchema: { type: 'object' } }));
const LISTS: Readonly<Record<string, JsonObject>> = {
  'tools/list': { tools: TOOLS },
  'resources/list': { resources: [] },
  'resources/templates/list': { resourceTemplates: [{ name: 'all', uriTemplate: `${MIRROR_URI}{which}` }] },
  'prompts/list': { prompts: ['say', 'hear'].map((name) => ({ name, arguments: [{ name: 'said' }] })) },
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

/** All that it says to one message, in order. */
function mirror(era: Era, { id, method, params = {} }: Request): readonly JsonObject[] {
  if (id === undefined) return [];
  const answer = (result: JsonObject) => [{ jsonrpc: '2.0', id, result }];
  const refuse = () => [{ jsonrpc: '2.0', id, error: { code: -32601, message: `${method} is not here.` } }];
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

/** What the next one who reads is told. */
let kept: Script | undefined;

/** What it was given to say; asked to `hear`, it says what it was asked. */
function scriptIn(method: string, params: JsonObject): Script | undefined {
  const { name, uri, arguments: given } = params;
  const heard = (result: JsonObject) => ({ before: [], result: { ...result, heard: params } });
  const { said } = (given ?? {}) as JsonObject;
  switch (method) {
    case 'tools/call':
      if (name === 'keep') kept = fromText(said);
      return name === 'say' ? fromText(said) : heard({ content: [] });
    case 'resources/read':
      return uri === `${MIRROR_URI}kept` ? kept : heard({ contents: [] });
    case 'prompts/get':
      return name === 'say' ? fromText(said) : heard({ messages: [] });
    case 'completion/complete':
      return heard({ completion: { values: [] } });
    default:
      return undefined;
  }
}

/** The same over HTTP: as JSON what is one message, as a stream what is more. */
export function mirrorServer(era: Era): Promise<HttpServer> {
  return listen((request, response) => void answerPost(era, request, response));
}

async function answerPost(era: Era, request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method !== 'POST') {
    response.writeHead(405).end();
    return;
  }
  const said = mirror(era, JSON.parse(await text(request)));
  const [only, ...more] = said.map((message) => JSON.stringify(message));
  if (only === undefined) response.writeHead(202).end();
  else if (more.length === 0) response.writeHead(200, { 'content-type': 'application/json' }).end(only);
  else {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end([only, ...more].map((one) => `event: message\ndata: ${one}\n\n`).join(''));
  }
}

if (import.meta.main) {
  const era = process.argv[2] as Era;
  // Not readline, to which more than a newline ends a line.
  let rest = '';
  for await (const chunk of process.stdin.setEncoding('utf8')) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      for (const message of mirror(era, JSON.parse(line))) process.stdout.write(`${JSON.stringify(message)}\n`);
    }
  }
}
