import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { expect, onTestFinished } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import type { JsonObject } from '../../src/core/call.ts';
import {
  type GatewayUnderTest,
  gatewayUnderTest,
  JSON_HEADERS,
  modern,
  OWNER,
  TOKEN,
} from '../../src/gateway/fixtures.ts';
import { serveStdio } from '../../src/gateway/transports/serve-stdio.ts';
import { verifies } from '../requirements.ts';
import { listen } from '../servers/http-servers.ts';
import { until } from '../until.ts';

const NUMBERS = '[9007199254740993,-18446744073709551615,1e400,-1.5E-400,12,0.5]';
const ARGUMENTS = `{"count":9007199254740993,"list":${NUMBERS}}`;
const TOOL = {
  name: 'echo',
  annotations: { readOnlyHint: true },
  inputSchema: {
    type: 'object',
    required: ['count'],
    properties: { count: { type: 'integer', minimum: 1 }, list: { type: 'array', items: { type: 'number' } } },
  },
};

/** Answers one message as text. A call gets the text of its arguments back. */
function reply(text: string): string | undefined {
  const { id, method } = JSON.parse(text) as { id?: number; method: string };
  if (id === undefined) return undefined;
  const hello = {
    protocolVersion: '2025-11-25',
    capabilities: { tools: {} },
    serverInfo: { name: 'up', version: '1' },
  };
  const results: Record<string, unknown> = { initialize: hello, 'tools/list': { tools: [TOOL] } };
  const written = /"arguments":(\{[^}]*\})/.exec(text)?.[1];
  // No template: in a configuration its placeholder would be expanded.
  const call = '{"jsonrpc":"2.0","id":ID,"result":{"content":[],"structuredContent":ARGUMENTS}}';
  if (method === 'tools/call') return call.replace('ID', String(id)).replace('ARGUMENTS', written ?? 'null');
  const result = results[method];
  const body = result ? { result } : { error: { code: -32601, message: 'unknown' } };
  return JSON.stringify({ jsonrpc: '2.0', id, ...body });
}

async function overHttp(contentType: string): Promise<JsonObject> {
  const server = await listen(async (request, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const answer = reply(Buffer.concat(await request.toArray()).toString());
    if (answer === undefined) return void response.writeHead(202).end();
    const isStream = contentType === 'text/event-stream';
    response.setHeader('content-type', contentType).end(isStream ? `data: ${answer}\n\n` : answer);
  });
  onTestFinished(() => server.close());
  return { type: 'http', url: server.url };
}

async function overWs(): Promise<JsonObject> {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  onTestFinished(() => server.close());
  server.on('connection', (socket) =>
    socket.on('message', (bytes) => {
      const answer = reply(String(bytes));
      if (answer !== undefined) socket.send(answer);
    }),
  );
  await once(server, 'listening');
  return { type: 'ws', url: `ws://127.0.0.1:${(server.address() as { port: number }).port}` };
}

function overStdio(): JsonObject {
  const script = `const TOOL = ${JSON.stringify(TOOL)}; ${reply.toString()};
    require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const answer = reply(line);
      if (answer !== undefined) process.stdout.write(answer + '\\n');
    });`;
  return { command: process.execPath, args: ['-e', script] };
}

const CALL = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"mcp__up__echo","arguments":${ARGUMENTS}}}`;
const [modernCall, modernHeaders] = modern('tools/call', { name: 'mcp__up__echo', arguments: { replaced: true } });

type Client = (gateway: GatewayUnderTest) => Promise<string>;
const clients: Record<string, Client> = {
  'legacy HTTP': async ({ send }) => (await send({ headers: JSON_HEADERS, body: CALL })).text,
  'modern HTTP': async ({ send }) => {
    const body = JSON.stringify({ jsonrpc: '2.0', ...modernCall }).replace('{"replaced":true}', ARGUMENTS);
    return (await send({ headers: { ...JSON_HEADERS, ...modernHeaders }, body })).text;
  },
  stdio: async ({ heddle }) => {
    const [input, output, stop] = [new PassThrough(), new PassThrough(), new AbortController()];
    onTestFinished(() => stop.abort());
    let written = '';
    output.on('data', (chunk) => (written += chunk));
    void serveStdio({ heddle, caller: OWNER, input, output }, stop.signal);
    input.write(`${CALL}\n`);
    await until('the call is answered', () => written.includes('\n'));
    return written;
  },
  WebSocket: async ({ port }) => {
    const headers = { authorization: `Bearer ${TOKEN}` };
    const socket = new WebSocket(`ws://127.0.0.1:${port}/mcp`, ['mcp'], { headers });
    onTestFinished(() => socket.terminate());
    await once(socket, 'open');
    socket.send(CALL);
    const [bytes] = await once(socket, 'message');
    return String(bytes);
  },
};

const servers = {
  stdio: async () => overStdio(),
  HTTP: () => overHttp('application/json'),
  'HTTP with an event stream': () => overHttp('text/event-stream'),
  WebSocket: overWs,
};

for (const [transport, serve] of Object.entries(servers)) {
  verifies(
    'P1',
    `a server over ${transport} gets and returns large numbers unchanged, whatever the client`,
    async () => {
      const gateway = await gatewayUnderTest({ config: { mcpServers: { up: await serve() } } });
      for (const [client, call] of Object.entries(clients)) {
        expect(`${client} ${await call(gateway)}`).toContain(`"structuredContent":${ARGUMENTS}`);
      }
    },
  );
}

verifies('P1', 'a large number is checked against the schema as a number', async () => {
  const gateway = await gatewayUnderTest({ config: { mcpServers: { up: overStdio() } } });
  const refused = async (count: string) =>
    (await gateway.send({ headers: JSON_HEADERS, body: CALL.replace('"count":9007199254740993', `"count":${count}`) }))
      .text;
  expect(await refused('-9007199254740993')).toMatch(/`count` must be >= 1/);
  expect(await refused('-1e400')).toMatch(/INPUT_INVALID/);
  expect(await refused('[9007199254740993]')).toMatch(/INPUT_INVALID/);
});
