import type { Readable, Writable } from 'node:stream';
import { Client as NewClient, StreamableHTTPClientTransport as NewHttp } from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as OldStdio } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as OldHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CreateMessageRequestSchema,
  ElicitationCompleteNotificationSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';

type Result = Readonly<Record<string, unknown>>;

/** Answers what the user of a client is asked. */
export type User = (method: string, params: Result, signal: AbortSignal) => Promise<Result> | Result;

/** Where a server is: an address with its token, a program to start, or two streams. */
export type Way =
  | { readonly url: string; readonly token: string }
  | { readonly command: string; readonly args: string[] }
  | { readonly input: Readable; readonly output: Writable };

export interface AskableOptions {
  readonly user: User;
  readonly capabilities?: Result;
  /** From which level on it wants to hear what servers log. */
  readonly level?: 'debug' | 'warning' | undefined;
  readonly onLog?: (said: Result) => void;
  /** Hears that a page was visited, where the era has such news. */
  readonly onVisited?: (elicitationId: string) => void;
}

/** An official client whose user can be asked. */
export interface AskableClient {
  call(
    name: string,
    options?: {
      readonly input?: Result;
      readonly signal?: AbortSignal;
      readonly onprogress?: (one: Result) => void;
    },
  ): Promise<Result>;
  /** The tools; all fit one page. */
  list(): Promise<readonly Result[]>;
  /** Calls back whenever the server says that its tools have changed. */
  onToolsChanged(told: () => void): Promise<void>;
  close(): Promise<void>;
}

export type Connect = (way: Way, options: AskableOptions) => Promise<AskableClient>;

const ME = { name: 'askable', version: '0' };
export const ALL_CAPABILITIES = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };

/** The official clients, by their era. */
export const ASKABLE_CLIENTS: Readonly<Record<'legacy' | 'modern', Connect>> = {
  async legacy(way, { user, capabilities = ALL_CAPABILITIES, level, onLog = () => {}, onVisited = () => {} }) {
    const client = new OldClient(ME, { capabilities });
    const has = (name: string) => name in capabilities;
    if (has('elicitation'))
      client.setRequestHandler(ElicitRequestSchema, (one, { signal }) => user(one.method, one.params, signal) as never);
    if (has('sampling'))
      client.setRequestHandler(
        CreateMessageRequestSchema,
        (one, { signal }) => user(one.method, one.params, signal) as never,
      );
    if (has('roots'))
      client.setRequestHandler(ListRootsRequestSchema, (one, { signal }) => user(one.method, {}, signal) as never);
    await client.connect(
      ('url' in way
        ? new OldHttp(new URL(way.url), headersOf(way.token))
        : 'command' in way
          ? new OldStdio({ ...way, stderr: 'ignore' })
          : overStreams(way)) as never,
    );
    client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => onLog(params));
    client.setNotificationHandler(ElicitationCompleteNotificationSchema, ({ params }) =>
      onVisited(params.elicitationId),
    );
    if (level) await client.setLoggingLevel(level);
    return {
      call: (name, { input = {}, ...options } = {}) =>
        client.callTool({ name, arguments: input }, undefined, options as object) as Promise<Result>,
      list: async () => (await client.listTools()).tools,
      async onToolsChanged(told) {
        client.setNotificationHandler(ToolListChangedNotificationSchema, told);
      },
      close: () => client.close(),
    };
  },
  async modern(way, { user, capabilities = ALL_CAPABILITIES, level, onLog = () => {} }) {
    const client = new NewClient(ME, { capabilities, versionNegotiation: { mode: { pin: '2026-07-28' } } });
    for (const [capability, method] of Object.entries(METHODS)) {
      if (!(capability in capabilities)) continue;
      client.setRequestHandler(
        method as 'elicitation/create',
        ((one: { params?: Result }, { mcpReq }: { mcpReq: { signal: AbortSignal } }) =>
          user(method, one.params ?? {}, mcpReq.signal)) as never,
      );
    }
    await client.connect(
      'url' in way ? new NewHttp(new URL(way.url), headersOf(way.token)) : (overStreams(way as Streams) as never),
    );
    client.setNotificationHandler('notifications/message', ({ params }) => onLog(params));
    const _meta = level ? { 'io.modelcontextprotocol/logLevel': level } : {};
    return {
      call: (name, { input = {}, ...options } = {}) =>
        client.callTool({ name, arguments: { ...input }, _meta }, options as object),
      list: async () => (await client.listTools()).tools,
      async onToolsChanged(told) {
        client.setNotificationHandler('notifications/tools/list_changed', told);
        await client.listen({ toolsListChanged: true });
      },
      close: () => client.close(),
    };
  },
};

const METHODS = { elicitation: 'elicitation/create', sampling: 'sampling/createMessage', roots: 'roots/list' };
const headersOf = (token: string) => ({ requestInit: { headers: { authorization: `Bearer ${token}` } } });

interface StreamTransport {
  onmessage?: (message: never) => void;
  onclose?: () => void;
  start(): Promise<void>;
  send(message: unknown): Promise<void>;
  close(): Promise<void>;
}

type Streams = Extract<Way, { input: Readable }>;

/** One message per line, as over stdio, without a child. */
function overStreams({ input, output }: Streams): StreamTransport {
  let rest = '';
  const transport: StreamTransport = {
    async start() {
      input.on('data', (chunk) => {
        const lines = (rest + chunk).split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) transport.onmessage?.(JSON.parse(line) as never);
      });
    },
    async send(message) {
      output.write(`${JSON.stringify(message)}\n`);
    },
    async close() {
      output.end();
      transport.onclose?.();
    },
  };
  return transport;
}
