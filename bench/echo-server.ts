// The upstream of every candidate: a legacy server with as little cost as possible, so that the gateway is measured.
// node bench/echo-server.ts stdio | http
import { createServer } from 'node:http';
import { announce, readLines, readText } from './plain-server.ts';

interface Message {
  readonly id?: string | number;
  readonly method: string;
  readonly params?: Record<string, unknown> & { readonly arguments?: { readonly message?: unknown } };
}

const ECHO = {
  name: 'echo',
  description: 'Gives the message back.',
  inputSchema: { type: 'object', properties: { message: { type: 'string' } }, required: ['message'] },
};

const METHODS: Record<string, (params: NonNullable<Message['params']>) => object> = {
  initialize: ({ protocolVersion = '2025-06-18' }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'echo', version: '1.0.0' },
  }),
  ping: () => ({}),
  'tools/list': () => ({ tools: [ECHO] }),
  'tools/call': (params) => ({ content: [{ type: 'text', text: String(params.arguments?.message) }] }),
};

function respond(text: string): string | undefined {
  const { id, method, params = {} }: Message = JSON.parse(text);
  if (id === undefined) return undefined;
  const result = METHODS[method]?.(params);
  const error = { code: -32601, message: `${method} is not supported.` };
  return JSON.stringify({ jsonrpc: '2.0', id, ...(result ? { result } : { error }) });
}

function serveStdio(): void {
  // One write for all responses to a chunk. Otherwise the pipe would be measured.
  let responses = '';
  readLines(
    process.stdin,
    (line) => {
      const text = respond(line);
      if (text !== undefined) responses += `${text}\n`;
    },
    () => {
      if (responses !== '') process.stdout.write(responses);
      responses = '';
    },
  );
  process.stdin.on('end', () => process.exit(0));
}

function serveHttp(): void {
  const server = createServer((request, response) => {
    if (request.method !== 'POST') return response.writeHead(405).end();
    return readText(request, (text) => {
      const body = respond(text);
      if (body === undefined) return response.writeHead(202).end();
      const length = Buffer.byteLength(body);
      return response.writeHead(200, { 'content-type': 'application/json', 'content-length': length }).end(body);
    });
  });
  announce(server);
}

if (process.argv[2] === 'http') serveHttp();
else serveStdio();
