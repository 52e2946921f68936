import { randomUUID } from 'node:crypto';
import type { RequestListener } from 'node:http';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { isInitializeRequest } from '@modelcontextprotocol/sdk/types.js';
import { createMcpHandler } from '@modelcontextprotocol/server';
import type { JsonObject } from '../../src/core/call.ts';
import { datedLegacy, type LegacyVersion, type OpenServer } from './dated-legacy.ts';
import { datedModern } from './dated-modern.ts';
import { listen, withSessions } from './http-servers.ts';
import { sseServer } from './sse-servers.ts';
import { listenWs, transportOf } from './ws-servers.ts';

/** A server that supports exactly one protocol version. */
export interface DatedServer {
  /** Its entry in the configuration. */
  readonly entry: JsonObject;
  /** The URI of its only resource. */
  readonly uri: string;
  /** The names of called and of cancelled tools. A modern server records only `hang`. */
  readonly running: string[];
  readonly cancelled: string[];
  /** Sends `notifications/resources/updated` for its resource. */
  notifyUpdated(): void;
  /** Adds a tool, notifies clients, and returns its name. */
  addTool(): string;
  close(): Promise<void>;
}

const NOTE = (version: string) => `note://${version}/one`;

/** Creates the state that all connections to one server share. */
function legacyConnections(version: LegacyVersion, uri: string) {
  const [running, cancelled]: [string[], string[]] = [[], []];
  const open = new Set<OpenServer>();
  const added: string[] = [];
  return {
    running,
    cancelled,
    uri,
    async connect(transport: Transport): Promise<void> {
      const one = datedLegacy(version, { running, cancelled, uri });
      for (const name of added) one.addTool(name);
      open.add(one);
      one.onClose(() => open.delete(one));
      await one.connect(pinVersion(version, transport));
    },
    notifyUpdated: () => {
      for (const one of open) one.notifyUpdated();
    },
    addTool: () => {
      const name = `grown-${added.length + 1}`;
      added.push(name);
      for (const one of open) one.addTool(name);
      return name;
    },
  };
}

/** Rewrites `initialize` requests to the version of the server. */
function pinVersion(version: string, transport: Transport): Transport {
  transport.onmessage = (message) => {
    if (isInitializeRequest(message)) message.params.protocolVersion = version;
  };
  return transport;
}

async function overSse(version: LegacyVersion): Promise<DatedServer> {
  const { connect, ...rest } = legacyConnections(version, NOTE(version));
  const { url, close } = await sseServer(connect);
  return { ...rest, entry: { type: 'sse', url }, close };
}

async function overHttp(version: LegacyVersion): Promise<DatedServer> {
  const { connect, ...rest } = legacyConnections(version, NOTE(version));
  const { url, close } = await withSessions(async (onsessioninitialized) => {
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: randomUUID, onsessioninitialized });
    await connect(transport as Transport);
    return transport;
  });
  return { ...rest, entry: { type: 'http', url }, close };
}

async function overWebSocket(version: LegacyVersion): Promise<DatedServer> {
  const { connect, ...rest } = legacyConnections(version, NOTE(`ws-${version}`));
  const { url, close } = await listenWs((socket) => void connect(transportOf(socket)));
  return { ...rest, entry: { type: 'ws', url }, close };
}

async function modern(): Promise<DatedServer> {
  const uri = NOTE('2026-07-28');
  const [running, cancelled]: [string[], string[]] = [[], []];
  const added: string[] = [];
  const handler = createMcpHandler(() => datedModern({ running, cancelled, uri, added: added }), { legacy: 'reject' });
  const { url, close } = await listen(toNodeHandler(handler) as RequestListener);
  return {
    entry: { type: 'http', url },
    uri,
    running,
    cancelled,
    notifyUpdated: () => handler.notify.resourceUpdated(uri),
    addTool: () => {
      const name = `grown-${added.length + 1}`;
      added.push(name);
      handler.notify.toolsChanged();
      return name;
    },
    async close() {
      await handler.close();
      await close();
    },
  };
}

/** Starts a server, by protocol version. The last uses a WebSocket. */
export const DATED_SERVERS = {
  '2024-11-05': () => overSse('2024-11-05'),
  '2025-06-18': () => overHttp('2025-06-18'),
  '2025-11-25': () => overHttp('2025-11-25'),
  '2026-07-28': modern,
  '2025-11-25 ws': () => overWebSocket('2025-11-25'),
} as const satisfies Record<string, () => Promise<DatedServer>>;
