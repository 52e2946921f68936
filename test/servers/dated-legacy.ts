import { setTimeout as wait } from 'node:timers/promises';
import { completable } from '@modelcontextprotocol/sdk/server/completable.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { RequestHandlerExtra } from '@modelcontextprotocol/sdk/shared/protocol.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  CreateMessageResultSchema,
  ElicitResultSchema,
  type ServerNotification,
  type ServerRequest,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import * as z from 'zod';

type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>;
export type LegacyVersion = '2024-11-05' | '2025-06-18' | '2025-11-25';

/** State that all connections of a server share. */
export interface ServerState {
  /** The names of called tools, and of tools whose call was cancelled. */
  readonly running: string[];
  readonly cancelled: string[];
  readonly uri: string;
}

/** An SDK 1 server with one connection. */
export interface OpenServer {
  connect(transport: Transport): Promise<void>;
  onClose(callback: () => void): void;
  notifyUpdated(): void;
  addTool(name: string): void;
}

export const SCHEMA = { type: 'object' as const, properties: { name: { type: 'string' as const } } };
export const PAGE = 'https://example.com/sign-in';
export const POEM = {
  messages: [{ role: 'user' as const, content: { type: 'text' as const, text: 'A poem, please.' } }],
  maxTokens: 10,
};
export const GUESTS = ['Ann', 'Anton', 'Bea'];
export const textOf = (value: unknown) => ({
  content: [{ type: 'text' as const, text: typeof value === 'string' ? value : JSON.stringify(value) }],
});
export const greeting = (who: string) => ({
  messages: [{ role: 'user' as const, content: { type: 'text' as const, text: `Hello, ${who}!` } }],
});

const CHANGING = { tools: { listChanged: true }, resources: { subscribe: true, listChanged: true } };

/** Creates a server with the tools of its version: `form` since 2025-06-18, `url` since 2025-11-25. */
export function datedLegacy(version: LegacyVersion, state: ServerState): OpenServer {
  const server = new McpServer({ name: 'dated', version }, { capabilities: CHANGING });
  const subscribed = new Set<string>();
  const tool = (name: string, run: (extra: Extra) => Promise<unknown>) =>
    server.registerTool(name, { annotations: { readOnlyHint: true } }, async (extra: Extra) => {
      state.running.push(name);
      extra.signal.addEventListener('abort', () => state.cancelled.push(name));
      return textOf(await run(extra));
    });

  server.registerTool('echo', { inputSchema: { text: z.string() } }, ({ text }) => textOf(text));
  tool('count', count);
  tool('hang', () => new Promise(() => {}));
  tool('sample', (extra) =>
    extra.sendRequest({ method: 'sampling/createMessage', params: POEM }, CreateMessageResultSchema),
  );
  const elicit = (extra: Extra, params: object) =>
    extra.sendRequest({ method: 'elicitation/create', params } as ServerRequest, ElicitResultSchema);
  if (version >= '2025-06-18') tool('form', (extra) => elicit(extra, { message: 'Who?', requestedSchema: SCHEMA }));
  if (version >= '2025-11-25')
    tool('url', (extra) => elicit(extra, { mode: 'url', message: 'Sign in.', elicitationId: 'one', url: PAGE }));

  server.registerResource('one', state.uri, {}, () => ({ contents: [{ uri: state.uri, text: 'a note' }] }));
  server.server.setRequestHandler(SubscribeRequestSchema, ({ params }) => {
    subscribed.add(params.uri);
    return {};
  });
  server.server.setRequestHandler(UnsubscribeRequestSchema, ({ params }) => {
    subscribed.delete(params.uri);
    return {};
  });
  const who = completable(z.string(), (typed) => GUESTS.filter((guest) => guest.startsWith(typed)));
  server.registerPrompt('greet', { argsSchema: { who } }, ({ who }) => greeting(who));

  return {
    connect: (transport) => server.connect(transport),
    onClose(callback) {
      server.server.onclose = callback;
    },
    notifyUpdated: () => {
      if (subscribed.has(state.uri)) void server.server.sendResourceUpdated({ uri: state.uri });
    },
    addTool: (name) => tool(name, async () => 'grown'),
  };
}

/** The delay between progress notifications. SDK 1 clients drop progress read together with the result. */
export const COUNT_MS = 10;

async function count({ _meta, sendNotification }: Extra): Promise<string> {
  const { progressToken } = _meta ?? {};
  for (let progress = 1; progress <= 3; progress++) {
    if (progressToken === undefined) break;
    await sendNotification({ method: 'notifications/progress', params: { progress, total: 3, progressToken } });
    await wait(COUNT_MS);
  }
  return 'counted';
}
