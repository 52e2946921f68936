import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node';
import { McpServer as McpServer1 } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { createMcpHandler, McpServer as McpServer2 } from '@modelcontextprotocol/server';
import * as z from 'zod';

export interface HttpServer {
  readonly url: string;
  /** The HTTP method of every request so far, in order. */
  readonly requests: string[];
  /** Returns the number of open sockets. */
  connections(): Promise<number>;
  close(): Promise<void>;
}

/** Starts an HTTP server on a free port. */
export async function listen(handle: RequestListener, requests: string[] = []): Promise<HttpServer> {
  const server: Server = createServer((request, response) => {
    requests.push(String(request.method));
    return handle(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    requests,
    connections: () =>
      new Promise((resolve, reject) =>
        server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
      ),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const echoed = ({ text }: { readonly text: string }) => ({ content: [{ type: 'text' as const, text }] });

function server2(): McpServer2 {
  const server = new McpServer2({ name: 'sdk-2', version: '1' });
  server.registerTool('echo', { inputSchema: z.object({ text: z.string() }) }, echoed);
  return server;
}

function server1(): McpServer1 {
  const server = new McpServer1({ name: 'sdk-1', version: '1' });
  server.registerTool('echo', { inputSchema: { text: z.string() } }, echoed);
  return server;
}

/** Starts an SDK 2 server without sessions, for both eras. */
export function statelessServer(): Promise<HttpServer> {
  return listen(toNodeHandler(createMcpHandler(server2)) as RequestListener);
}

interface Transport {
  handleRequest(request: IncomingMessage, response: ServerResponse): Promise<void>;
}

/** Starts an HTTP server that keeps one transport per session. */
export async function withSessions(open: (onSession: (id: string) => void) => Promise<Transport>): Promise<HttpServer> {
  const sessions = new Map<string, Transport>();
  return listen(async (request, response) => {
    const known = sessions.get(String(request.headers['mcp-session-id']));
    const transport: Transport = known ?? (await open((id) => sessions.set(id, transport)));
    await transport.handleRequest(request, response);
  });
}

/** Starts an SDK 2 server with sessions. */
export function sessionServer(): Promise<HttpServer> {
  return withSessions(async (onsessioninitialized) => {
    const transport = new NodeStreamableHTTPServerTransport({ sessionIdGenerator: randomUUID, onsessioninitialized });
    await server2().connect(transport);
    return transport;
  });
}

/** Starts an SDK 1 server, which supports only sessions. */
export function oldSessionServer(): Promise<HttpServer> {
  return withSessions(async (onsessioninitialized) => {
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: randomUUID, onsessioninitialized });
    await server1().connect(transport as never);
    return transport;
  });
}
