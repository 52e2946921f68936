import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { Client as NewClient, StreamableHTTPClientTransport as NewHttp } from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport as OldHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  isInitializeRequest,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { WebSocket } from 'ws';
import { checked } from '../messages/checked-transport.ts';
import type { LegacyVersion } from './dated-legacy.ts';
import { oneMessagePerTurn } from './one-message-per-turn.ts';
import { transportOf } from './ws-servers.ts';

type JsonRecord = Readonly<Record<string, unknown>>;

/** The port of a gateway and the token of the caller. */
export interface GatewayEndpoint {
  readonly port: number;
  readonly token: string;
}

interface CallOptions {
  readonly signal?: AbortSignal;
  readonly onprogress?: (one: JsonRecord) => void;
}

/** An SDK client of one protocol version. It declares every capability of that version. */
export interface DatedClient {
  /** The negotiated protocol version. */
  readonly version: string | undefined;
  /** The methods of the input requests it received. */
  readonly inputMethods: string[];
  readonly responses: UserResponses;
  call(name: string, input?: JsonRecord, options?: CallOptions): Promise<JsonRecord>;
  get(prompt: string, input: Readonly<Record<string, string>>): Promise<JsonRecord>;
  complete(prompt: string, argument: string, typed: string): Promise<JsonRecord>;
  /** Returns the names of all tools. */
  list(): Promise<readonly string[]>;
  /** Calls back on each update of a resource, until the returned function is called. */
  subscribe(uri: string, callback: () => void): Promise<() => Promise<unknown>>;
  onToolsChanged(callback: () => void): Promise<void>;
  close(): Promise<void>;
}

interface InputRequest {
  readonly method: string;
  readonly params?: JsonRecord;
}

const withoutDelay: DelayResponse = async (response) => response;
const ME = { name: 'dated', version: '0' };
/** Returns the responses of one user, by the tool that requests them. They are unique per user. */
const responsesOf = (user: string) => ({
  form: { action: 'accept', content: { name: user } },
  url: { action: 'accept' },
  sample: { role: 'assistant', model: 'm', content: { type: 'text', text: `Roses, by ${user}` } },
});
export type UserResponses = ReturnType<typeof responsesOf>;

/** Delays the response of a user. The default responds at once. */
export type DelayResponse = (response: JsonRecord, signal: AbortSignal) => Promise<JsonRecord>;

const CAPABILITIES = {
  '2024-11-05': { sampling: {}, roots: {} },
  '2025-06-18': { sampling: {}, roots: {}, elicitation: {} },
  '2025-11-25': { sampling: { tools: {} }, roots: {}, elicitation: { form: {}, url: {} } },
  '2026-07-28': { sampling: { tools: {} }, roots: {}, elicitation: { form: {}, url: {} } },
} as const;

const headersOf = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

async function connectLegacy(version: LegacyVersion, transport: Transport, delay = withoutDelay): Promise<DatedClient> {
  const inputMethods: string[] = [];
  const responses = responsesOf(randomUUID());
  const capabilities: JsonRecord = CAPABILITIES[version];
  const client = new OldClient(ME, { capabilities });
  const respond = ({ method, params = {} }: InputRequest, { signal }: { signal: AbortSignal }) => {
    inputMethods.push(method);
    return delay(responseTo(responses, method, params), signal) as never;
  };
  if (capabilities.elicitation) client.setRequestHandler(ElicitRequestSchema, respond);
  client.setRequestHandler(CreateMessageRequestSchema, respond);
  const agreed = pinVersion(version, transport);
  await client.connect(checked(oneMessagePerTurn(transport)));
  return {
    version: agreed(),
    inputMethods,
    responses,
    call: (name, input = {}, options = {}) =>
      client.callTool({ name, arguments: { ...input } }, undefined, options as object) as Promise<JsonRecord>,
    list: async () => (await client.listTools()).tools.map(({ name }) => name),
    get: (name, input) => client.getPrompt({ name, arguments: { ...input } }),
    complete: (name, argument, value) =>
      client.complete({ ref: { type: 'ref/prompt', name }, argument: { name: argument, value } }),
    async subscribe(uri, callback) {
      client.setNotificationHandler(
        ResourceUpdatedNotificationSchema,
        ({ params }) => void (params.uri === uri && callback()),
      );
      await client.subscribeResource({ uri });
      return () => client.unsubscribeResource({ uri });
    },
    async onToolsChanged(callback) {
      client.setNotificationHandler(ToolListChangedNotificationSchema, callback);
    },
    close: () => client.close(),
  };
}

/** Sends the given version in `initialize` instead of the newest. Returns a getter of the negotiated one. */
function pinVersion(version: LegacyVersion, transport: Transport): () => string | undefined {
  const send = transport.send.bind(transport);
  const agree = transport.setProtocolVersion?.bind(transport);
  let agreed: string | undefined;
  transport.send = (message, options) => {
    if (isInitializeRequest(message)) message.params.protocolVersion = version;
    return send(message, options);
  };
  transport.setProtocolVersion = (one) => {
    agreed = one;
    agree?.(one);
  };
  return () => agreed;
}

async function connectModern(
  transport: Parameters<NewClient['connect']>[0],
  delay = withoutDelay,
): Promise<DatedClient> {
  const inputMethods: string[] = [];
  const responses = responsesOf(randomUUID());
  const capabilities = CAPABILITIES['2026-07-28'];
  const client = new NewClient(ME, { capabilities, versionNegotiation: { mode: { pin: '2026-07-28' } } });
  const respond = (
    { method, params = {} }: InputRequest,
    { mcpReq: { signal } }: { mcpReq: { signal: AbortSignal } },
  ) => {
    inputMethods.push(method);
    return delay(responseTo(responses, method, params), signal) as never;
  };
  client.setRequestHandler('elicitation/create', respond as never);
  client.setRequestHandler('sampling/createMessage', respond as never);
  await client.connect(checked(oneMessagePerTurn(transport)));
  return {
    version: client.getNegotiatedProtocolVersion(),
    inputMethods,
    responses,
    call: (name, input = {}, options = {}) => client.callTool({ name, arguments: { ...input } }, options as object),
    list: async () => (await client.listTools()).tools.map(({ name }) => name),
    get: (name, input) => client.getPrompt({ name, arguments: { ...input } }),
    complete: (name, argument, value) =>
      client.complete({ ref: { type: 'ref/prompt', name }, argument: { name: argument, value } }),
    async subscribe(uri, callback) {
      client.setNotificationHandler(
        'notifications/resources/updated',
        ({ params }) => void (params.uri === uri && callback()),
      );
      const listening = await client.listen({ resourceSubscriptions: [uri] });
      return () => listening.close();
    },
    async onToolsChanged(callback) {
      client.setNotificationHandler('notifications/tools/list_changed', callback);
      await client.listen({ toolsListChanged: true });
    },
    close: () => client.close(),
  };
}

function responseTo({ form, url, sample }: UserResponses, method: string, { mode }: JsonRecord): JsonRecord {
  if (method === 'sampling/createMessage') return sample;
  return mode === 'url' ? url : form;
}

const gatewayUrl = (port: number, path: string) => new URL(`http://127.0.0.1:${port}${path}`);

async function socketTo({ port, token }: GatewayEndpoint): Promise<Transport> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/mcp`, ['mcp'], headersOf(token));
  await once(socket, 'open');
  return transportOf(socket);
}

export type ClientName = LegacyVersion | '2026-07-28' | '2025-11-25 ws' | '2026-07-28 ws';
type Connect = (endpoint: GatewayEndpoint, delay?: DelayResponse) => Promise<DatedClient>;

const legacyOverHttp =
  (version: LegacyVersion): Connect =>
  ({ port, token }, delay) =>
    connectLegacy(
      version,
      new OldHttp(gatewayUrl(port, '/mcp'), { requestInit: headersOf(token) }) as Transport,
      delay,
    );

/** Connects a client, by protocol version. The last two use a WebSocket. */
export const DATED_CLIENTS: Readonly<Record<ClientName, Connect>> = {
  '2024-11-05': ({ port, token }, delay) =>
    connectLegacy(
      '2024-11-05',
      new SSEClientTransport(gatewayUrl(port, '/sse'), { requestInit: headersOf(token) }),
      delay,
    ),
  '2025-06-18': legacyOverHttp('2025-06-18'),
  '2025-11-25': legacyOverHttp('2025-11-25'),
  '2026-07-28': ({ port, token }, delay) =>
    connectModern(new NewHttp(gatewayUrl(port, '/mcp'), { requestInit: headersOf(token) }), delay),
  '2025-11-25 ws': async (endpoint, delay) => connectLegacy('2025-11-25', await socketTo(endpoint), delay),
  '2026-07-28 ws': async (endpoint, delay) => connectModern((await socketTo(endpoint)) as never, delay),
};
