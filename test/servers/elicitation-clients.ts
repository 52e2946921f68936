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

import { checked } from '../messages/checked-transport.ts';

type Result = Readonly<Record<string, unknown>>;

/** Answers the input requests of a client in place of its user. */
export type User = (method: string, params: Result, signal: AbortSignal) => Promise<Result> | Result;

/** The URL and token of a server, the command that starts one, or two open streams. */
export type Endpoint =
  | { readonly url: string; readonly token: string }
  | { readonly command: string; readonly args: string[] }
  | { readonly input: Readable; readonly output: Writable };

export interface ElicitationClientOptions {
  readonly user: User;
  readonly capabilities?: Result;
  /** The lowest level of log messages that the client requests. */
  readonly level?: 'debug' | 'warning' | undefined;
  readonly onLog?: (params: Result) => void;
  /** Receives `notifications/elicitation/complete`, which only the legacy era has. */
  readonly onElicitationComplete?: (elicitationId: string) => void;
}

/** An SDK client that answers input requests. */
export interface ElicitationClient {
  call(
    name: string,
    options?: {
      readonly input?: Result;
      readonly signal?: AbortSignal;
      readonly onprogress?: (one: Result) => void;
    },
  ): Promise<Result>;
  /** Returns the first page of `tools/list`. */
  list(): Promise<readonly Result[]>;
  /** Calls back on each `notifications/tools/list_changed`. */
  onToolsChanged(callback: () => void): Promise<void>;
  close(): Promise<void>;
}

export type Connect = (endpoint: Endpoint, options: ElicitationClientOptions) => Promise<ElicitationClient>;

const ME = { name: 'elicitation', version: '0' };
export const ALL_CAPABILITIES = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };

/** Connects an SDK client, by era. */
export const ELICITATION_CLIENTS: Readonly<Record<'legacy' | 'modern', Connect>> = {
  async legacy(
    endpoint,
    { user, capabilities = ALL_CAPABILITIES, level, onLog = () => {}, onElicitationComplete = () => {} },
  ) {
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
      checked(
        'url' in endpoint
          ? new OldHttp(new URL(endpoint.url), headersOf(endpoint.token))
          : 'command' in endpoint
            ? new OldStdio({ ...endpoint, stderr: 'ignore' })
            : overStreams(endpoint),
      ) as never,
    );
    client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => onLog(params));
    client.setNotificationHandler(ElicitationCompleteNotificationSchema, ({ params }) =>
      onElicitationComplete(params.elicitationId),
    );
    if (level) await client.setLoggingLevel(level);
    return {
      call: (name, { input = {}, ...options } = {}) =>
        client.callTool({ name, arguments: input }, undefined, options as object) as Promise<Result>,
      list: async () => (await client.listTools()).tools,
      async onToolsChanged(callback) {
        client.setNotificationHandler(ToolListChangedNotificationSchema, callback);
      },
      close: () => client.close(),
    };
  },
  async modern(endpoint, { user, capabilities = ALL_CAPABILITIES, level, onLog = () => {} }) {
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
      checked(
        'url' in endpoint
          ? new NewHttp(new URL(endpoint.url), headersOf(endpoint.token))
          : (overStreams(endpoint as Streams) as never),
      ),
    );
    client.setNotificationHandler('notifications/message', ({ params }) => onLog(params));
    const _meta = level ? { 'io.modelcontextprotocol/logLevel': level } : {};
    return {
      call: (name, { input = {}, ...options } = {}) =>
        client.callTool({ name, arguments: { ...input }, _meta }, options as object),
      list: async () => (await client.listTools()).tools,
      async onToolsChanged(callback) {
        client.setNotificationHandler('notifications/tools/list_changed', callback);
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

type Streams = Extract<Endpoint, { input: Readable }>;

/** Creates a transport that frames messages as stdio does: one per line of text. */
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
