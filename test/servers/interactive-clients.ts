import { once } from 'node:events';
import {
  Client as NewClient,
  StreamableHTTPClientTransport as NewHttp,
  SSEClientTransport as NewSse,
} from '@modelcontextprotocol/client';
import { StdioClientTransport as NewStdio } from '@modelcontextprotocol/client/stdio';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport as OldSse } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport as OldStdio } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as OldHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  PromptListChangedNotificationSchema,
  ResourceListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { WebSocket } from 'ws';
import { checked } from '../messages/checked-transport.ts';
import { oneMessagePerTurn } from './one-message-per-turn.ts';
import { transportOf } from './ws-servers.ts';

type Result = Readonly<Record<string, unknown>>;

/** The address of a gateway or server, or the command that starts one. */
export type Endpoint =
  | { readonly transport: 'http' | 'sse' | 'ws'; readonly url: string; readonly token?: string }
  | {
      readonly transport: 'stdio';
      readonly command: string;
      readonly args: string[];
      readonly cwd?: string;
      readonly env?: Readonly<Record<string, string>>;
    };

/** Notifications a client received, by their kind. */
export interface Received {
  resourceLists: number;
  toolLists: number;
  promptLists: number;
  readonly updated: string[];
  readonly logs: Result[];
}

/** An SDK client that declares elicitation, sampling and roots, and answers all three. */
export interface InteractiveClient {
  readonly received: Received;
  tools(): Promise<readonly Result[]>;
  call(name: string, input?: Result): Promise<Result>;
  resources(): Promise<readonly Result[]>;
  templates(): Promise<readonly Result[]>;
  read(uri: string): Promise<Result>;
  /** Subscribes to one resource and to changed lists. */
  subscribe(uri: string): Promise<() => Promise<unknown>>;
  prompts(): Promise<readonly Result[]>;
  prompt(name: string, input: Readonly<Record<string, string>>): Promise<Result>;
  complete(prompt: string, argument: string, value: string): Promise<Result>;
  setLevel(level: 'debug' | 'warning'): Promise<void>;
  close(): Promise<void>;
}

export const CAPABILITIES = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
export const ANSWERS: Readonly<Record<string, Result>> = {
  'elicitation/create': { action: 'accept', content: { name: 'Ann Example' } },
  'sampling/createMessage': { role: 'assistant', model: 'm', content: { type: 'text', text: 'a sampled text' } },
  'roots/list': { roots: [{ uri: 'file:///home/ann', name: 'Ann' }] },
};
const ME = { name: 'interactive', version: '0' };

/** The SDK clients by name: both SDKs with sessions, and SDK 2.4 in the modern era. */
export const INTERACTIVE_CLIENTS = {
  'SDK 1.32': connectOld,
  'SDK 2.4 with a session': (endpoint: Endpoint, capabilities?: Result) =>
    connectNew(endpoint, { capabilities, modern: false }),
  'SDK 2.4 in the modern era': (endpoint: Endpoint, capabilities?: Result) =>
    connectNew(endpoint, { capabilities, modern: true }),
} as const;

const nothingReceived = (): Received => ({ resourceLists: 0, toolLists: 0, promptLists: 0, updated: [], logs: [] });
const headersOf = (token: string | undefined): Record<string, string> =>
  token === undefined ? {} : { authorization: `Bearer ${token}` };

async function webSocket(url: string, token: string | undefined): Promise<WebSocket> {
  const socket = new WebSocket(url.replace('http:', 'ws:'), ['mcp'], { headers: headersOf(token) });
  await once(socket, 'open');
  return socket;
}

/** Opens a transport of SDK 1.32. */
export const oldTransport = async (endpoint: Endpoint): Promise<object> =>
  checked(oneMessagePerTurn(await openOld(endpoint)));

async function openOld(endpoint: Endpoint): Promise<object> {
  if (endpoint.transport === 'stdio') return new OldStdio({ ...endpoint, env: { ...endpoint.env }, stderr: 'ignore' });
  const { transport, url, token } = endpoint;
  const options = { requestInit: { headers: headersOf(token) } };
  if (transport === 'ws') return transportOf(await webSocket(url, token));
  return transport === 'sse' ? new OldSse(new URL(url), options) : new OldHttp(new URL(url), options);
}

/** Opens a transport of SDK 2.4. */
export const newTransport = async (endpoint: Endpoint): Promise<object> =>
  checked(oneMessagePerTurn(await openNew(endpoint)));

async function openNew(endpoint: Endpoint): Promise<object> {
  if (endpoint.transport === 'stdio') return new NewStdio({ ...endpoint, env: { ...endpoint.env }, stderr: 'ignore' });
  const { transport, url, token } = endpoint;
  const options = { requestInit: { headers: headersOf(token) } };
  if (transport === 'ws') return transportOf(await webSocket(url, token));
  return transport === 'sse' ? new NewSse(new URL(url), options) : new NewHttp(new URL(url), options);
}

async function connectOld(endpoint: Endpoint, capabilities: Result = CAPABILITIES): Promise<InteractiveClient> {
  const received = nothingReceived();
  const client = new OldClient(ME, { capabilities });
  const answer = ({ method }: { method: string }) => ANSWERS[method] as never;
  if ('elicitation' in capabilities) client.setRequestHandler(ElicitRequestSchema, answer);
  if ('sampling' in capabilities) client.setRequestHandler(CreateMessageRequestSchema, answer);
  if ('roots' in capabilities) client.setRequestHandler(ListRootsRequestSchema, answer);
  client.setNotificationHandler(ResourceListChangedNotificationSchema, () => void received.resourceLists++);
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => void received.toolLists++);
  client.setNotificationHandler(PromptListChangedNotificationSchema, () => void received.promptLists++);
  client.setNotificationHandler(
    ResourceUpdatedNotificationSchema,
    ({ params }) => void received.updated.push(params.uri),
  );
  client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => void received.logs.push(params));
  await client.connect((await oldTransport(endpoint)) as never);
  return {
    received,
    tools: async () => (await client.listTools()).tools,
    call: (name, input = {}) => client.callTool({ name, arguments: { ...input } }) as Promise<Result>,
    resources: async () => (await client.listResources()).resources,
    templates: async () => (await client.listResourceTemplates()).resourceTemplates,
    read: (uri) => client.readResource({ uri }),
    async subscribe(uri) {
      await client.subscribeResource({ uri });
      return () => client.unsubscribeResource({ uri });
    },
    prompts: async () => (await client.listPrompts()).prompts,
    prompt: (name, input) => client.getPrompt({ name, arguments: { ...input } }),
    complete: (name, argument, value) =>
      client.complete({ ref: { type: 'ref/prompt', name }, argument: { name: argument, value } }),
    setLevel: async (level) => void (await client.setLoggingLevel(level)),
    close: () => client.close(),
  };
}

interface NewOptions {
  readonly capabilities?: Result | undefined;
  readonly modern: boolean;
}

async function connectNew(
  endpoint: Endpoint,
  { capabilities = CAPABILITIES, modern }: NewOptions,
): Promise<InteractiveClient> {
  const received = nothingReceived();
  const era = modern ? { versionNegotiation: { mode: { pin: '2026-07-28' as const } } } : {};
  const client = new NewClient(ME, { capabilities, ...era });
  let _meta: Result = {};
  for (const [method, answer] of Object.entries(ANSWERS)) {
    if ((method.split('/')[0] as string) in capabilities)
      client.setRequestHandler(method as 'roots/list', () => answer as never);
  }
  client.setNotificationHandler('notifications/resources/list_changed', () => void received.resourceLists++);
  client.setNotificationHandler('notifications/tools/list_changed', () => void received.toolLists++);
  client.setNotificationHandler('notifications/prompts/list_changed', () => void received.promptLists++);
  client.setNotificationHandler(
    'notifications/resources/updated',
    ({ params }) => void received.updated.push(params.uri),
  );
  client.setNotificationHandler('notifications/message', ({ params }) => void received.logs.push(params));
  await client.connect((await newTransport(endpoint)) as never);
  return {
    received,
    tools: async () => (await client.listTools()).tools,
    call: (name, input = {}) => client.callTool({ name, arguments: { ...input }, _meta }),
    resources: async () => (await client.listResources()).resources,
    templates: async () => (await client.listResourceTemplates()).resourceTemplates,
    read: (uri) => client.readResource({ uri }),
    async subscribe(uri) {
      if (!modern) {
        await client.subscribeResource({ uri });
        return () => client.unsubscribeResource({ uri });
      }
      const lists = { resourcesListChanged: true, toolsListChanged: true, promptsListChanged: true };
      const listening = await client.listen({ resourceSubscriptions: [uri], ...lists });
      return () => listening.close();
    },
    prompts: async () => (await client.listPrompts()).prompts,
    prompt: (name, input) => client.getPrompt({ name, arguments: { ...input } }),
    complete: (name, argument, value) =>
      client.complete({ ref: { type: 'ref/prompt', name }, argument: { name: argument, value } }),
    async setLevel(level) {
      if (modern) _meta = { 'io.modelcontextprotocol/logLevel': level };
      else await client.setLoggingLevel(level);
    },
    close: () => client.close(),
  };
}
