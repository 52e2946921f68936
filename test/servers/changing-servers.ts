import type { RequestListener } from 'node:http';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { McpServer as McpServer1 } from '@modelcontextprotocol/sdk/server/mcp.js';
import { SubscribeRequestSchema, UnsubscribeRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { createMcpHandler, McpServer as McpServer2, type ServerNotifier } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import type { Serve } from '../../src/upstream/transports/connect-in-memory.ts';
import { type HttpServer, listen } from './http-servers.ts';

const CHANGING = {
  capabilities: {
    tools: { listChanged: true },
    prompts: { listChanged: true },
    resources: { listChanged: true, subscribe: true },
  },
};
const NOTE = 'note://one';

function server2(): McpServer2 {
  const server = new McpServer2({ name: 'changing', version: '2' }, CHANGING);
  server.registerTool('first', {}, () => ({ content: [] }));
  server.registerResource('one', NOTE, {}, () => ({ contents: [{ uri: NOTE, text: '1' }] }));
  server.registerPrompt('greet', {}, () => ({ messages: [] }));
  return server;
}

export interface ChangingHttpServer extends HttpServer {
  /** Tells everybody who listens. */
  readonly notify: ServerNotifier;
  /** Ends every listen as a server that shuts down does, and goes on serving. */
  endListens(): Promise<void>;
}

/** SDK 2 in the era without sessions: whoever wants to know of changes must listen. */
export async function changingHttpServer(): Promise<ChangingHttpServer> {
  let handler = createMcpHandler(server2);
  const serve: RequestListener = (request, response) => {
    void (toNodeHandler(handler) as RequestListener)(request, response);
  };
  const http = await listen(serve);
  return {
    ...http,
    notify: {
      toolsChanged: () => handler.notify.toolsChanged(),
      promptsChanged: () => handler.notify.promptsChanged(),
      resourcesChanged: () => handler.notify.resourcesChanged(),
      resourceUpdated: (uri) => handler.notify.resourceUpdated(uri),
    },
    async endListens() {
      const old = handler;
      handler = createMcpHandler(server2);
      await old.close();
    },
  };
}

/** The same on one line, as over stdio; `servers` are those made so far, the last one for the line itself. */
export function changingLineServer(): { readonly serve: Serve; readonly servers: McpServer2[] } {
  const servers: McpServer2[] = [];
  const make = () => {
    const server = server2();
    servers.push(server);
    return server;
  };
  return { servers, serve: async (line) => void serveStdio(make, { transport: line as never }) };
}

/** SDK 1, which tells its changes unasked, and of a resource once it is subscribed to. */
export function changingOldServer(): {
  readonly serve: Serve;
  readonly server: McpServer1;
  readonly subscribed: Set<string>;
} {
  const server = new McpServer1({ name: 'changing', version: '1' }, CHANGING);
  const subscribed = new Set<string>();
  server.registerTool('first', {}, () => ({ content: [] }));
  server.server.setRequestHandler(SubscribeRequestSchema, ({ params }) => {
    subscribed.add(params.uri);
    return {};
  });
  server.server.setRequestHandler(UnsubscribeRequestSchema, ({ params }) => {
    subscribed.delete(params.uri);
    return {};
  });
  return { server, subscribed, serve: (line) => server.connect(line as never) };
}
