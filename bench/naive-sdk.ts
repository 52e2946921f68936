// The official SDK's client and server, combined to a gateway in the simplest way.
// node bench/naive-sdk.ts CONFIG
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { NodeStreamableHTTPServerTransport } from '@modelcontextprotocol/node';
import { Server } from '@modelcontextprotocol/server';
import { announce, readUpstream } from './plain-server.ts';

const { command = '', args = [], url } = readUpstream(process.argv[2]);
const client = new Client({ name: 'naive', version: '1.0.0' });
await client.connect(
  url === undefined
    ? new StdioClientTransport({ command, args: [...args] })
    : new StreamableHTTPClientTransport(new URL(url)),
);
const { tools } = await client.listTools();

function newServer(): Server {
  const server = new Server({ name: 'naive', version: '1.0.0' }, { capabilities: { tools: {} } });
  server.setRequestHandler('tools/list', async () => ({ tools }));
  server.setRequestHandler('tools/call', ({ params }) =>
    client.callTool({ name: params.name, arguments: params.arguments ?? {} }),
  );
  return server;
}

const sessions = new Map<string, NodeStreamableHTTPServerTransport>();

async function newSession(): Promise<NodeStreamableHTTPServerTransport> {
  const session = new NodeStreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id: string) => {
      sessions.set(id, session);
    },
  });
  await newServer().connect(session);
  return session;
}

announce(
  createServer(async (request, response) => {
    const session = sessions.get(String(request.headers['mcp-session-id'])) ?? (await newSession());
    await session.handleRequest(request, response);
  }),
);
process.on('SIGINT', () => {
  client.close().finally(() => process.exit(0));
});
