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

/** A server that speaks one version of the protocol, and nothing older or newer. */
export interface DatedServer {
  /** Where it is, as configuration says it. */
  readonly entry: JsonObject;
  /** The note that it has. */
  readonly uri: string;
  /** The calls of `hang` that came, and those that were cancelled. */
  readonly hanging: string[];
  readonly cancelled: string[];
  /** Says that its note has changed. */
  touch(): void;
  /** Has one more tool, and says so; its name comes back. */
  grow(): string;
  close(): Promise<void>;
}

const NOTE = (version: string) => `note://${version}/one`;

/** What all lines to one server have in common. */
function lines(version: LegacyVersion, uri: string) {
  const [hanging, cancelled]: [string[], string[]] = [[], []];
  const open = new Set<OpenServer>();
  const grown: string[] = [];
  return {
    hanging,
    cancelled,
    uri,
    async connect(transport: Transport): Promise<void> {
      const one = datedLegacy(version, { hanging, cancelled, uri });
      for (const name of grown) one.grow(name);
      open.add(one);
      one.onClose(() => open.delete(one));
      await one.connect(onlyIn(version, transport));
    },
    touch: () => {
      for (const one of open) one.touch();
    },
    grow: () => {
      const name = `grown-${grown.length + 1}`;
      grown.push(name);
      for (const one of open) one.grow(name);
      return name;
    },
  };
}

/** Whatever version it is asked for, it hears its own. */
function onlyIn(version: string, transport: Transport): Transport {
  transport.onmessage = (message) => {
    if (isInitializeRequest(message)) message.params.protocolVersion = version;
  };
  return transport;
}

async function overSse(version: LegacyVersion): Promise<DatedServer> {
  const { connect, ...rest } = lines(version, NOTE(version));
  const { url, close } = await sseServer(connect);
  return { ...rest, entry: { type: 'sse', url }, close };
}

async function overHttp(version: LegacyVersion): Promise<DatedServer> {
  const { connect, ...rest } = lines(version, NOTE(version));
  const { url, close } = await withSessions(async (onsessioninitialized) => {
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: randomUUID, onsessioninitialized });
    await connect(transport as Transport);
    return transport;
  });
  return { ...rest, entry: { type: 'http', url }, close };
}

async function overWebSocket(version: LegacyVersion): Promise<DatedServer> {
  const { connect, ...rest } = lines(version, NOTE(`ws-${version}`));
  const { url, close } = await listenWs((socket) => void connect(transportOf(socket)));
  return { ...rest, entry: { type: 'ws', url }, close };
}

async function modern(): Promise<DatedServer> {
  const uri = NOTE('2026-07-28');
  const [hanging, cancelled]: [string[], string[]] = [[], []];
  const grown: string[] = [];
  const handler = createMcpHandler(() => datedModern({ hanging, cancelled, uri, grown }), { legacy: 'reject' });
  const { url, close } = await listen(toNodeHandler(handler) as RequestListener);
  return {
    entry: { type: 'http', url },
    uri,
    hanging,
    cancelled,
    touch: () => handler.notify.resourceUpdated(uri),
    grow: () => {
      const name = `grown-${grown.length + 1}`;
      grown.push(name);
      handler.notify.toolsChanged();
      return name;
    },
    async close() {
      await handler.close();
      await close();
    },
  };
}

/** By the version they speak; the last over a WebSocket. */
export const DATED_SERVERS = {
  '2024-11-05': () => overSse('2024-11-05'),
  '2025-06-18': () => overHttp('2025-06-18'),
  '2025-11-25': () => overHttp('2025-11-25'),
  '2026-07-28': modern,
  '2025-11-25 ws': () => overWebSocket('2025-11-25'),
} as const satisfies Record<string, () => Promise<DatedServer>>;
