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

/** What a server has in all its lines. */
export interface World {
  /** The calls of `hang` that came, and those that were cancelled. */
  readonly hanging: string[];
  readonly cancelled: string[];
  readonly uri: string;
}

/** A server of SDK 1 with one line. */
export interface OpenServer {
  connect(transport: Transport): Promise<void>;
  onClose(told: () => void): void;
  touch(): void;
  grow(name: string): void;
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

/** What its version knows: forms came with 2025-06-18, pages to visit with 2025-11-25. */
export function datedLegacy(version: LegacyVersion, world: World): OpenServer {
  const server = new McpServer({ name: 'dated', version }, { capabilities: CHANGING });
  const subscribed = new Set<string>();
  const tool = (name: string, run: (extra: Extra) => Promise<unknown>) =>
    server.registerTool(name, { annotations: { readOnlyHint: true } }, async (extra: Extra) =>
      textOf(await run(extra)),
    );

  server.registerTool('echo', { inputSchema: { text: z.string() } }, ({ text }) => textOf(text));
  tool('count', count);
  tool('hang', (extra) => {
    world.hanging.push('hang');
    extra.signal.addEventListener('abort', () => world.cancelled.push('hang'));
    return new Promise(() => {});
  });
  tool('sample', (extra) =>
    extra.sendRequest({ method: 'sampling/createMessage', params: POEM }, CreateMessageResultSchema),
  );
  const ask = (extra: Extra, params: object) =>
    extra.sendRequest({ method: 'elicitation/create', params } as ServerRequest, ElicitResultSchema);
  if (version >= '2025-06-18') tool('form', (extra) => ask(extra, { message: 'Who?', requestedSchema: SCHEMA }));
  if (version >= '2025-11-25')
    tool('url', (extra) => ask(extra, { mode: 'url', message: 'Sign in.', elicitationId: 'one', url: PAGE }));

  server.registerResource('one', world.uri, {}, () => ({ contents: [{ uri: world.uri, text: 'a note' }] }));
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
    onClose(told) {
      server.server.onclose = told;
    },
    touch: () => {
      if (subscribed.has(world.uri)) void server.server.sendResourceUpdated({ uri: world.uri });
    },
    grow: (name) => tool(name, async () => 'grown'),
  };
}

/** Slowly: a client of SDK 1 drops the progress that reaches it in one read with the answer. */
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
