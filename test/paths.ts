import { once } from 'node:events';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { WebSocket } from 'ws';
import type { ServerEntry } from '../src/config/schema/schema.ts';
import type { Caller, CallKind, JsonObject } from '../src/core/call.ts';
import { JSON_HEADERS, modern, TOKEN } from '../src/gateway/fixtures.ts';
import type { Era } from '../src/wire/mcp.ts';
import { BIN } from './e2e/heddle-command.ts';
import {
  type CountingPlace,
  countingHttp,
  countingIde,
  countingInProcess,
  countingProxy,
  countingSse,
  countingStdio,
  countingWs,
  type OpenedServer,
} from './servers/counting-servers.ts';
import { transportOf } from './servers/ws-servers.ts';

/**
 * The cases that every path runs. The names of the entries of test/servers/counting-responses.ts say which. A `denied`
 * entry is hidden by its name; a `barred` one is listed, and a rule on `args` denies its calls.
 */
export const CASES = ['allowed', 'denied', 'asked', 'failing', 'barred'] as const;
export type Case = (typeof CASES)[number];

/** Every kind of call: its request by a client of each era, and its command. A new kind does not compile until listed. */
export const KINDS: Readonly<Record<CallKind, KindOfCall>> = {
  tool: {
    request: (one) => ['tools/call', { name: `mcp__counter__${one}`, arguments: {} }],
    command: (one) => ['call', `counter.${one}`],
  },
  resource: {
    request: (one, path) => ['resources/read', { uri: uriOf(one, path) }],
    command: (one, path) => ['read', uriOf(one, path)],
  },
  prompt: {
    request: (one) => ['prompts/get', { name: `mcp__counter__${one}` }],
    command: (one) => ['prompt', `counter.${one}`],
  },
  completion: {
    request: (one) => [
      'completion/complete',
      { ref: { type: 'ref/prompt', name: `mcp__counter__${one}` }, argument: { name: 'word', value: '' } },
    ],
  },
  subscription: {
    request: (one, path, era) =>
      era === 'legacy'
        ? ['resources/subscribe', { uri: uriOf(one, path) }]
        : ['subscriptions/listen', { notifications: { resourceSubscriptions: [uriOf(one, path)] } }],
  },
  extension: { request: (one) => [`count/${one}`, {}] },
};

// A rule about any tool of a server holds for its methods, too. So each case has a server of its own: see `methodServers`.
interface KindOfCall {
  /** Returns method and params. `path` makes URIs unique, because Heddle shares subscriptions. */
  request(one: Case, path: string, era: Era): readonly [string, JsonObject];
  /** Returns the command line; absent if no command makes such calls. */
  command?(one: Case, path: string): readonly string[];
}

export const uriOf = (one: Case, path: string) => `count://${one}/${path.replaceAll(' ', '-')}`;

/** A connected client of the gateway. */
export interface ConnectedClient {
  /** Resolves with the response; for a modern subscription with its acknowledgement. */
  request(method: string, params: JsonObject): Promise<JsonObject>;
  close(): Promise<void>;
}

/** The gateway under test: its port, and the project for `heddle serve --stdio`. */
export interface GatewayPlace {
  readonly port: number;
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
}

type OpenClient = (place: GatewayPlace) => Promise<ConnectedClient>;

/** The transports for clients: one file per transport in src/gateway/transports, and Streamable HTTP. */
export type ClientTransportName = 'http' | 'sse' | 'ws' | 'stdio';

const NO_MODERN_SSE = '2026-07-28 has no HTTP+SSE';

/** Every transport and era of clients. A combination that no client can have says why. */
export const CLIENTS: Readonly<Record<ClientTransportName, Readonly<Record<Era, OpenClient | string>>>> = {
  http: {
    legacy: ({ port }) =>
      legacyClient(new StreamableHTTPClientTransport(urlOf(port, '/mcp'), { requestInit: AUTHORIZED }) as Transport),
    modern: async ({ port }) => modernHttpClient(port),
  },
  sse: {
    legacy: ({ port }) =>
      legacyClient(
        new SSEClientTransport(urlOf(port, '/sse'), {
          requestInit: AUTHORIZED,
          eventSourceInit: { fetch: (url, init) => fetch(url, { ...init, ...AUTHORIZED } as RequestInit) },
        }),
      ),
    modern: NO_MODERN_SSE,
  },
  ws: {
    legacy: async ({ port }) => legacyClient(await socketTo(port)),
    modern: async ({ port }) => modernClient(await socketTo(port)),
  },
  stdio: {
    legacy: (place) => legacyClient(stdioTo(place)),
    modern: (place) => modernClient(stdioTo(place)),
  },
};

type OpenServer = (place: CountingPlace) => Promise<OpenedServer>;

/** Every transport and era of servers, by the type of the entry. A new type does not compile until listed. */
export const SERVER_PATHS: Readonly<Record<ServerEntry['type'], Readonly<Record<Era, OpenServer | string>>>> = {
  stdio: { legacy: countingStdio, modern: countingStdio },
  http: { legacy: countingHttp, modern: countingHttp },
  proxy: { legacy: countingProxy, modern: countingProxy },
  sse: { legacy: countingSse, modern: NO_MODERN_SSE },
  ws: { legacy: countingWs, modern: countingWs },
  'sse-ide': { legacy: countingIde('sse'), modern: NO_MODERN_SSE },
  'ws-ide': { legacy: countingIde('ws'), modern: countingIde('ws') },
  sdk: { legacy: countingInProcess, modern: countingInProcess },
};

/** Returns every transport and era of servers that exists. */
export const serverPaths = () =>
  Object.entries(SERVER_PATHS).flatMap(([type, eras]) =>
    (['legacy', 'modern'] as const).flatMap((era) => {
      const open = eras[era];
      return typeof open === 'string' ? [] : [{ path: `${type} ${era}`, era, open }];
    }),
  );

/** The front end of a caller. The console decides approvals, and makes no calls. */
type FrontEnd = 'clients' | 'library' | 'commands' | 'approvals alone' | 'steps of workflows' | 'none yet';

/** Every `via` of a caller, and the front end that makes such callers. A new one does not compile until listed. */
export const FRONT_ENDS: Readonly<Record<Caller['via'], FrontEnd>> = {
  gateway: 'clients',
  library: 'library',
  cli: 'commands',
  console: 'approvals alone',
  workflow: 'steps of workflows',
  code: 'none yet',
};

const AUTHORIZED = { headers: { authorization: `Bearer ${TOKEN}` } };
const urlOf = (port: number, path: string) => new URL(`http://127.0.0.1:${port}${path}`);

async function socketTo(port: number): Promise<Transport> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/mcp`, ['mcp'], AUTHORIZED);
  await once(socket, 'open');
  return transportOf(socket);
}

const stdioTo = ({ folder, env }: GatewayPlace): Transport =>
  new StdioClientTransport({
    command: process.execPath,
    args: [BIN, 'serve', '--stdio'],
    cwd: folder,
    env: { ...env },
    stderr: 'ignore',
  });

async function legacyClient(transport: Transport): Promise<ConnectedClient> {
  const client = await startClient(transport);
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '0' } };
  await client.request('initialize', params);
  transport.setProtocolVersion?.('2025-11-25');
  await transport.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
  return client;
}

async function modernClient(transport: Transport): Promise<ConnectedClient> {
  const { request, close } = await startClient(transport);
  return { request: (method, params) => request(method, modern(method, params)[0].params as JsonObject), close };
}

/** Starts a transport, and matches responses to requests by their ids. */
async function startClient(transport: Transport): Promise<ConnectedClient> {
  const waiting = new Map<unknown, (message: JsonObject) => void>();
  let next = 1;
  transport.onmessage = (message) => {
    const received = message as unknown as JsonObject;
    const id = received.id ?? subscriptionOf(received);
    waiting.get(id)?.(received);
    waiting.delete(id);
  };
  await transport.start();
  return {
    async request(method, params) {
      const id = next++;
      const { promise, resolve } = Promise.withResolvers<JsonObject>();
      waiting.set(id, resolve);
      await transport.send({ jsonrpc: '2.0', id, method, params: params as never });
      return promise;
    },
    close: () => transport.close(),
  };
}

/** Returns the id of the request that a subscription's acknowledgement is about. */
function subscriptionOf({ method, params }: JsonObject): unknown {
  if (method !== 'notifications/subscriptions/acknowledged') return undefined;
  const meta = (params as JsonObject)._meta as JsonObject;
  return meta['io.modelcontextprotocol/subscriptionId'];
}

function modernHttpClient(port: number): ConnectedClient {
  const over = new AbortController();
  return {
    async request(method, params) {
      const [message, headers] = modern(method, params);
      const uri = typeof params.uri === 'string' ? { 'mcp-name': params.uri } : {};
      const response = await fetch(urlOf(port, '/mcp'), {
        method: 'POST',
        headers: { ...JSON_HEADERS, ...headers, ...uri, accept: 'application/json, text/event-stream' },
        body: JSON.stringify({ jsonrpc: '2.0', ...message }),
        signal: over.signal,
      });
      return firstMessage(response);
    },
    close: async () => over.abort(),
  };
}

/** Reads a JSON body, or the first message of an event stream. */
async function firstMessage(response: Response): Promise<JsonObject> {
  let text = '';
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    text += Buffer.from(chunk).toString();
    const [, data] = /^data: (\{.*)\n/m.exec(text) ?? [];
    if (data !== undefined) return JSON.parse(data);
  }
  return JSON.parse(text);
}
