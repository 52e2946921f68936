import type { ServerResponse } from 'node:http';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import * as z from 'zod';
import { type HttpServer, listen } from './http-servers.ts';

export interface SseServer extends HttpServer {
  /** The open streams. */
  readonly streams: ReadonlySet<ServerResponse>;
  /** Method and path of every request so far, such as `POST /mcp`. */
  readonly received: string[];
  /** The Authorization header of every request so far. */
  readonly credentials: (string | undefined)[];
}

type ConnectOne = (transport: SSEServerTransport) => Promise<void>;

/**
 * Starts an HTTP+SSE server that connects an SDK 1 server for each stream.
 * By default it has the tools `echo` and `wait`; `wait` never returns. A POST without a session gets `postStatus`.
 */
export async function sseServer(
  connect: ConnectOne = (transport) => mcp().connect(transport),
  postStatus = 404,
): Promise<SseServer> {
  const sessions = new Map<string, SSEServerTransport>();
  const streams = new Set<ServerResponse>();
  const credentials: (string | undefined)[] = [];
  const received: string[] = [];
  const server = await listen(async (request, response) => {
    received.push(`${request.method} ${new URL(String(request.url), 'http://x').pathname}`);
    credentials.push(request.headers.authorization);
    if (request.method === 'GET') {
      streams.add(response);
      response.on('close', () => streams.delete(response));
      const transport = new SSEServerTransport('/messages', response);
      sessions.set(transport.sessionId, transport);
      await connect(transport);
      return;
    }
    const session = new URL(String(request.url), 'http://x').searchParams.get('sessionId');
    const transport = sessions.get(String(session));
    if (transport) await transport.handlePostMessage(request as never, response);
    else response.writeHead(postStatus).end();
  });
  return { ...server, streams, received, credentials };
}

function mcp(): McpServer {
  const server = new McpServer({ name: 'sdk-1-sse', version: '1' });
  const content = (text: string) => ({ content: [{ type: 'text' as const, text }] });
  server.registerTool('echo', { inputSchema: { text: z.string() } }, ({ text }) => content(text));
  server.registerTool('wait', {}, () => new Promise(() => {}));
  return server;
}
