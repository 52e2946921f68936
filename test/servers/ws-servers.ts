import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { type ServerOptions, type WebSocket, WebSocketServer } from 'ws';
import * as z from 'zod';

export interface WsServer {
  readonly url: string;
  /** The headers of every upgrade so far. */
  readonly upgrades: IncomingMessage['headers'][];
  readonly sockets: ReadonlySet<WebSocket>;
  close(): Promise<void>;
}

/** Starts a WebSocket server with the subprotocol `mcp` on a free port. */
export async function listenWs(
  onSocket: (socket: WebSocket) => void,
  options: ServerOptions = {},
  http: Server = createServer(),
): Promise<WsServer> {
  const server = new WebSocketServer({ server: http, ...options });
  const upgrades: IncomingMessage['headers'][] = [];
  server.on('connection', (socket, request) => {
    upgrades.push(request.headers);
    onSocket(socket);
  });
  await new Promise<void>((listening) => http.listen(0, '127.0.0.1', listening));
  return {
    url: `ws://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`,
    upgrades,
    sockets: server.clients,
    async close() {
      for (const socket of server.clients) socket.terminate();
      server.close();
      await new Promise((closed) => http.close(closed));
    },
  };
}

/** Starts a WebSocket server that connects an SDK 1 server with the tool `echo` to each socket. */
export function wsServer(options?: ServerOptions): Promise<WsServer> {
  return listenWs((socket) => {
    const server = new McpServer({ name: 'sdk-1-ws', version: '1' });
    server.registerTool('echo', { inputSchema: { text: z.string() } }, ({ text }) => ({
      content: [{ type: 'text', text }],
    }));
    void server.connect(transportOf(socket));
  }, options);
}

/** Wraps an open WebSocket as a transport of SDK 1. */
export function transportOf(socket: WebSocket): Transport {
  const transport: Transport = {
    start: async () => {},
    send: async (message) => socket.send(JSON.stringify(message)),
    close: async () => socket.close(),
  };
  socket.on('message', (text) => transport.onmessage?.(JSON.parse(String(text))));
  socket.on('close', () => transport.onclose?.());
  return transport;
}
