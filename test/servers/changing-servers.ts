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
  /** Sends a notification on every open `subscriptions/listen`. */
  readonly notify: ServerNotifier;
  /** Ends every `subscriptions/listen`, as a shutdown does, and keeps serving requests. */
  endListens(): Promise<void>;
}

/** Starts an SDK 2 server of the modern era. It sends changes only on `subscriptions/listen`. */
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

/**
 * Creates the same server for one transport, as over stdio.
 * `servers` holds all instances so far; the last one serves the transport itself.
 */
export function changingStdioServer(): { readonly serve: Serve; readonly servers: McpServer2[] } {
  const servers: McpServer2[] = [];
  const make = () => {
    const server = server2();
    servers.push(server);
    return server;
  };
  return { servers, serve: async (transport) => void serveStdio(make, { transport: transport as never }) };
}

/**
 * Creates an SDK 1 server. It sends list changes without a subscription.
 * It sends resource updates after `resources/subscribe`.
 */
export function changingLegacyServer(): {
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
  return { server, subscribed, serve: (transport) => server.connect(transport as never) };
}
