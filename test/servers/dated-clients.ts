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
import type { LegacyVersion } from './dated-legacy.ts';
import { oneMessagePerTurn } from './one-message-per-turn.ts';
import { transportOf } from './ws-servers.ts';

type Known = Readonly<Record<string, unknown>>;

/** Where a gateway is, and who comes. */
export interface Entrance {
  readonly port: number;
  readonly token: string;
}

interface During {
  readonly signal?: AbortSignal;
  readonly onprogress?: (one: Known) => void;
}

/** An official client that speaks one version of the protocol, and says that it can what its version knows. */
export interface DatedClient {
  /** The version that was agreed on. */
  readonly version: string | undefined;
  /** By which methods its user was asked. */
  readonly asked: string[];
  readonly answers: Answers;
  call(name: string, input?: Known, during?: During): Promise<Known>;
  get(prompt: string, input: Readonly<Record<string, string>>): Promise<Known>;
  complete(prompt: string, argument: string, typed: string): Promise<Known>;
  /** The names of all tools. */
  list(): Promise<readonly string[]>;
  /** Is told whenever the resource changes, until what comes back is called. */
  follow(uri: string, told: () => void): Promise<() => Promise<unknown>>;
  onToolsChanged(told: () => void): Promise<void>;
  close(): Promise<void>;
}

interface Asked {
  readonly method: string;
  readonly params?: Known;
}

const atOnce: Thinking = async (answer) => answer;
const ME = { name: 'dated', version: '0' };
/** What its user says, by the tool that asks: nobody else would say the same. */
const answersOf = (who: string) => ({
  form: { action: 'accept', content: { name: who } },
  url: { action: 'accept' },
  sample: { role: 'assistant', model: 'm', content: { type: 'text', text: `Roses, by ${who}` } },
});
export type Answers = ReturnType<typeof answersOf>;

/** Answers in the place of a user who takes time; without it there is an answer at once. */
export type Thinking = (answer: Known, signal: AbortSignal) => Promise<Known>;

const CAPABILITIES = {
  '2024-11-05': { sampling: {}, roots: {} },
  '2025-06-18': { sampling: {}, roots: {}, elicitation: {} },
  '2025-11-25': { sampling: { tools: {} }, roots: {}, elicitation: { form: {}, url: {} } },
  '2026-07-28': { sampling: { tools: {} }, roots: {}, elicitation: { form: {}, url: {} } },
} as const;

const headersOf = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

async function old(version: LegacyVersion, transport: Transport, think = atOnce): Promise<DatedClient> {
  const asked: string[] = [];
  const answers = answersOf(randomUUID());
  const capabilities: Known = CAPABILITIES[version];
  const client = new OldClient(ME, { capabilities });
  const answer = ({ method, params = {} }: Asked, { signal }: { signal: AbortSignal }) => {
    asked.push(method);
    return think(answerTo(answers, method, params), signal) as never;
  };
  if (capabilities.elicitation) client.setRequestHandler(ElicitRequestSchema, answer);
  client.setRequestHandler(CreateMessageRequestSchema, answer);
  const agreed = onlyIn(version, transport);
  await client.connect(oneMessagePerTurn(transport));
  return {
    version: agreed(),
    asked,
    answers,
    call: (name, input = {}, during = {}) =>
      client.callTool({ name, arguments: { ...input } }, undefined, during as object) as Promise<Known>,
    list: async () => (await client.listTools()).tools.map(({ name }) => name),
    get: (name, input) => client.getPrompt({ name, arguments: { ...input } }),
    complete: (name, argument, value) =>
      client.complete({ ref: { type: 'ref/prompt', name }, argument: { name: argument, value } }),
    async follow(uri, told) {
      client.setNotificationHandler(
        ResourceUpdatedNotificationSchema,
        ({ params }) => void (params.uri === uri && told()),
      );
      await client.subscribeResource({ uri });
      return () => client.unsubscribeResource({ uri });
    },
    async onToolsChanged(told) {
      client.setNotificationHandler(ToolListChangedNotificationSchema, told);
    },
    close: () => client.close(),
  };
}

/** Has it offer its own version, not the newest it knows; gives the one that was agreed on. */
function onlyIn(version: LegacyVersion, transport: Transport): () => string | undefined {
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

async function modern(transport: Parameters<NewClient['connect']>[0], think = atOnce): Promise<DatedClient> {
  const asked: string[] = [];
  const answers = answersOf(randomUUID());
  const capabilities = CAPABILITIES['2026-07-28'];
  const client = new NewClient(ME, { capabilities, versionNegotiation: { mode: { pin: '2026-07-28' } } });
  const answer = ({ method, params = {} }: Asked, { mcpReq: { signal } }: { mcpReq: { signal: AbortSignal } }) => {
    asked.push(method);
    return think(answerTo(answers, method, params), signal) as never;
  };
  client.setRequestHandler('elicitation/create', answer as never);
  client.setRequestHandler('sampling/createMessage', answer as never);
  await client.connect(oneMessagePerTurn(transport));
  return {
    version: client.getNegotiatedProtocolVersion(),
    asked,
    answers,
    call: (name, input = {}, during = {}) => client.callTool({ name, arguments: { ...input } }, during as object),
    list: async () => (await client.listTools()).tools.map(({ name }) => name),
    get: (name, input) => client.getPrompt({ name, arguments: { ...input } }),
    complete: (name, argument, value) =>
      client.complete({ ref: { type: 'ref/prompt', name }, argument: { name: argument, value } }),
    async follow(uri, told) {
      client.setNotificationHandler(
        'notifications/resources/updated',
        ({ params }) => void (params.uri === uri && told()),
      );
      const listening = await client.listen({ resourceSubscriptions: [uri] });
      return () => listening.close();
    },
    async onToolsChanged(told) {
      client.setNotificationHandler('notifications/tools/list_changed', told);
      await client.listen({ toolsListChanged: true });
    },
    close: () => client.close(),
  };
}

function answerTo({ form, url, sample }: Answers, method: string, { mode }: Known): Known {
  if (method === 'sampling/createMessage') return sample;
  return mode === 'url' ? url : form;
}

const place = (port: number, path: string) => new URL(`http://127.0.0.1:${port}${path}`);

async function socketTo({ port, token }: Entrance): Promise<Transport> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/mcp`, ['mcp'], headersOf(token));
  await once(socket, 'open');
  return transportOf(socket);
}

export type ClientName = LegacyVersion | '2026-07-28' | '2025-11-25 ws' | '2026-07-28 ws';
type Connect = (entrance: Entrance, think?: Thinking) => Promise<DatedClient>;

const oldOverHttp =
  (version: LegacyVersion): Connect =>
  ({ port, token }, think) =>
    old(version, new OldHttp(place(port, '/mcp'), { requestInit: headersOf(token) }) as Transport, think);

/** By the version they speak; the last two over a WebSocket. */
export const DATED_CLIENTS: Readonly<Record<ClientName, Connect>> = {
  '2024-11-05': ({ port, token }, think) =>
    old('2024-11-05', new SSEClientTransport(place(port, '/sse'), { requestInit: headersOf(token) }), think),
  '2025-06-18': oldOverHttp('2025-06-18'),
  '2025-11-25': oldOverHttp('2025-11-25'),
  '2026-07-28': ({ port, token }, think) =>
    modern(new NewHttp(place(port, '/mcp'), { requestInit: headersOf(token) }), think),
  '2025-11-25 ws': async (entrance, think) => old('2025-11-25', await socketTo(entrance), think),
  '2026-07-28 ws': async (entrance, think) => modern((await socketTo(entrance)) as never, think),
};
