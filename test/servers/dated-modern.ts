import { setTimeout as wait } from 'node:timers/promises';
import { completable, inputRequired, McpServer, type ServerContext } from '@modelcontextprotocol/server';
import * as z from 'zod';
import { COUNT_MS, GUESTS, greeting, PAGE, POEM, SCHEMA, type ServerState, textOf } from './dated-legacy.ts';

interface ModernState extends ServerState {
  readonly added: readonly string[];
}

const CHANGING = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
};

/** Creates an SDK 2.4 server for one request. Its tools return `input_required`. */
export function datedModern({ running, cancelled, uri, added }: ModernState): McpServer {
  const server = new McpServer({ name: 'dated', version: '2026-07-28' }, { capabilities: CHANGING });
  const annotations = { readOnlyHint: true };
  const addInputTool = (name: string, required: Parameters<typeof inputRequired>[0]) =>
    server.registerTool(name, { annotations }, ({ mcpReq }: ServerContext) => {
      const responses = mcpReq.inputResponses;
      return responses ? textOf(responses.it) : inputRequired(required);
    });

  const inputSchema = z.object({ text: z.string() });
  server.registerTool('echo', { inputSchema }, ({ text }) => textOf(text));
  server.registerTool('count', { annotations }, async ({ mcpReq }: ServerContext) => {
    const progressToken = mcpReq._meta?.progressToken;
    for (let progress = 1; progress <= 3 && progressToken !== undefined; progress++) {
      await mcpReq.notify({ method: 'notifications/progress', params: { progress, total: 3, progressToken } });
      await wait(COUNT_MS);
    }
    return textOf('counted');
  });
  server.registerTool('hang', { annotations }, ({ mcpReq }: ServerContext) => {
    running.push('hang');
    mcpReq.signal.addEventListener('abort', () => cancelled.push('hang'));
    return new Promise<never>(() => {});
  });
  addInputTool('form', { inputRequests: { it: inputRequired.elicit({ message: 'Who?', requestedSchema: SCHEMA }) } });
  addInputTool('url', { inputRequests: { it: inputRequired.elicitUrl({ message: 'Sign in.', url: PAGE }) } });
  addInputTool('sample', { inputRequests: { it: inputRequired.createMessage(POEM) } });
  for (const name of added) server.registerTool(name, { annotations }, () => textOf('grown'));

  server.registerResource('one', uri, {}, () => ({ contents: [{ uri, text: 'a note' }] }));
  const who = completable(z.string(), (typed) => GUESTS.filter((guest) => guest.startsWith(typed)));
  server.registerPrompt('greet', { argsSchema: z.object({ who }) }, ({ who }) => greeting(who));
  return server;
}
