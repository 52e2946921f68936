import { Client as NewClient, StreamableHTTPClientTransport as NewHttp } from '@modelcontextprotocol/client';
import { StdioClientTransport as NewStdio } from '@modelcontextprotocol/client/stdio';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as OldStdio } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as OldHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { checked } from '../messages/checked-transport.ts';
import { oneMessagePerTurn } from './one-message-per-turn.ts';

/** The URL and token of a server, or the command that starts one. */
export type Endpoint =
  | { readonly url: string; readonly token?: string }
  | {
      readonly command: string;
      readonly args: string[];
      readonly cwd?: string;
      readonly env?: Readonly<Record<string, string>>;
    };

export interface CallOptions {
  readonly signal?: AbortSignal;
  readonly onprogress?: (progress: object) => void;
}

type Result = Readonly<Record<string, unknown>>;

/** The methods of an SDK client that tests use. */
export interface SdkClient {
  /** Returns all pages of `tools/list`. */
  list(): Promise<readonly Result[]>;
  call(name: string, input?: Readonly<Record<string, unknown>>, options?: CallOptions): Promise<Result>;
  /** Calls back on each `notifications/tools/list_changed`. */
  onToolsChanged(callback: () => void): Promise<void>;
  close(): Promise<void>;
}

const ME = { name: 'test', version: '0' };

/** The SDK clients, with their names in test titles. */
export const SDK_CLIENTS: readonly (readonly [string, (endpoint: Endpoint) => Promise<SdkClient>])[] = [
  ['SDK 2.4 with sessions', (endpoint) => connectNew(new NewClient(ME), endpoint)],
  ['SDK 2.4 without sessions', (endpoint) => connectNew(modernClient(), endpoint)],
  ['SDK 1.32', connectOld],
];

const modernClient = () => new NewClient(ME, { versionNegotiation: { mode: { pin: '2026-07-28' } } });

const headersOf = (token: string | undefined) => ({
  requestInit: { headers: token === undefined ? {} : { authorization: `Bearer ${token}` } },
});

async function connectNew(client: NewClient, endpoint: Endpoint): Promise<SdkClient> {
  const transport =
    'url' in endpoint
      ? new NewHttp(new URL(endpoint.url), headersOf(endpoint.token))
      : new NewStdio({ ...endpoint, env: { ...endpoint.env }, stderr: 'ignore' });
  await client.connect(checked(oneMessagePerTurn(transport)));
  return {
    list: async () => (await client.listTools()).tools,
    call: (name, input = {}, options = {}) => client.callTool({ name, arguments: { ...input } }, options),
    async onToolsChanged(callback) {
      client.setNotificationHandler('notifications/tools/list_changed', callback);
      if (client.getNegotiatedProtocolVersion() === '2026-07-28') await client.listen({ toolsListChanged: true });
    },
    close: () => client.close(),
  };
}

async function connectOld(endpoint: Endpoint): Promise<SdkClient> {
  const client = new OldClient(ME);
  const transport =
    'url' in endpoint
      ? new OldHttp(new URL(endpoint.url), headersOf(endpoint.token))
      : new OldStdio({ ...endpoint, env: { ...endpoint.env }, stderr: 'ignore' });
  await client.connect(checked(oneMessagePerTurn(transport)) as Parameters<OldClient['connect']>[0]);
  return {
    async list() {
      const tools: Result[] = [];
      let cursor: string | undefined;
      do {
        const page = await client.listTools(cursor === undefined ? {} : { cursor });
        tools.push(...page.tools);
        cursor = page.nextCursor;
      } while (cursor !== undefined);
      return tools;
    },
    call: (name, input = {}, options = {}) =>
      client.callTool({ name, arguments: { ...input } }, undefined, options as object) as Promise<Result>,
    async onToolsChanged(callback) {
      client.setNotificationHandler(ToolListChangedNotificationSchema, callback);
    },
    close: () => client.close(),
  };
}
