import { Client as NewClient, StreamableHTTPClientTransport as NewHttp } from '@modelcontextprotocol/client';
import { StdioClientTransport as NewStdio } from '@modelcontextprotocol/client/stdio';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as OldStdio } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as OldHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { oneMessagePerTurn } from './one-message-per-turn.ts';

/** Where a server is: an address with its token, or a program to start. */
export type Place =
  | { readonly url: string; readonly token?: string }
  | {
      readonly command: string;
      readonly args: string[];
      readonly cwd?: string;
      readonly env?: Readonly<Record<string, string>>;
    };

export interface Watching {
  readonly signal?: AbortSignal;
  readonly onprogress?: (progress: object) => void;
}

type Result = Readonly<Record<string, unknown>>;

/** The little that these tests need of any official client. */
export interface SdkClient {
  /** All pages. */
  list(): Promise<readonly Result[]>;
  call(name: string, input?: Readonly<Record<string, unknown>>, watching?: Watching): Promise<Result>;
  /** Calls back whenever the server says that its tools have changed. */
  onToolsChanged(told: () => void): Promise<void>;
  close(): Promise<void>;
}

const ME = { name: 'test', version: '0' };

/** The official clients, by what they are called in test names. */
export const SDK_CLIENTS: readonly (readonly [string, (place: Place) => Promise<SdkClient>])[] = [
  ['SDK 2.4 with sessions', (place) => connectNew(new NewClient(ME), place)],
  ['SDK 2.4 without sessions', (place) => connectNew(modernClient(), place)],
  ['SDK 1.32', connectOld],
];

const modernClient = () => new NewClient(ME, { versionNegotiation: { mode: { pin: '2026-07-28' } } });

const headersOf = (token: string | undefined) => ({
  requestInit: { headers: token === undefined ? {} : { authorization: `Bearer ${token}` } },
});

async function connectNew(client: NewClient, place: Place): Promise<SdkClient> {
  const transport =
    'url' in place
      ? new NewHttp(new URL(place.url), headersOf(place.token))
      : new NewStdio({ ...place, env: { ...place.env }, stderr: 'ignore' });
  await client.connect(oneMessagePerTurn(transport));
  return {
    list: async () => (await client.listTools()).tools,
    call: (name, input = {}, watching = {}) => client.callTool({ name, arguments: { ...input } }, watching),
    async onToolsChanged(told) {
      client.setNotificationHandler('notifications/tools/list_changed', told);
      if (client.getNegotiatedProtocolVersion() === '2026-07-28') await client.listen({ toolsListChanged: true });
    },
    close: () => client.close(),
  };
}

async function connectOld(place: Place): Promise<SdkClient> {
  const client = new OldClient(ME);
  const transport =
    'url' in place
      ? new OldHttp(new URL(place.url), headersOf(place.token))
      : new OldStdio({ ...place, env: { ...place.env }, stderr: 'ignore' });
  await client.connect(oneMessagePerTurn(transport) as Parameters<OldClient['connect']>[0]);
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
    call: (name, input = {}, watching = {}) =>
      client.callTool({ name, arguments: { ...input } }, undefined, watching as object) as Promise<Result>,
    async onToolsChanged(told) {
      client.setNotificationHandler(ToolListChangedNotificationSchema, told);
    },
    close: () => client.close(),
  };
}
