import { setTimeout as wait } from 'node:timers/promises';
import { completable, inputRequired, McpServer, type ServerContext } from '@modelcontextprotocol/server';
import * as z from 'zod';
import { COUNT_MS, GUESTS, greeting, PAGE, POEM, SCHEMA, textOf, type World } from './dated-legacy.ts';

interface ModernWorld extends World {
  readonly grown: readonly string[];
}

const CHANGING = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
};

/** A server of SDK 2.4 for one request: it asks by its answers. */
export function datedModern({ hanging, cancelled, uri, grown }: ModernWorld): McpServer {
  const server = new McpServer({ name: 'dated', version: '2026-07-28' }, { capabilities: CHANGING });
  const annotations = { readOnlyHint: true };
  const asking = (name: string, question: Parameters<typeof inputRequired>[0]) =>
    server.registerTool(name, { annotations }, ({ mcpReq }: ServerContext) => {
      const answers = mcpReq.inputResponses;
      return answers ? textOf(answers.it) : inputRequired(question);
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
    hanging.push('hang');
    mcpReq.signal.addEventListener('abort', () => cancelled.push('hang'));
    return new Promise<never>(() => {});
  });
  asking('form', { inputRequests: { it: inputRequired.elicit({ message: 'Who?', requestedSchema: SCHEMA }) } });
  asking('url', { inputRequests: { it: inputRequired.elicitUrl({ message: 'Sign in.', url: PAGE }) } });
  asking('sample', { inputRequests: { it: inputRequired.createMessage(POEM) } });
  for (const name of grown) server.registerTool(name, { annotations }, () => textOf('grown'));

  server.registerResource('one', uri, {}, () => ({ contents: [{ uri, text: 'a note' }] }));
  const who = completable(z.string(), (typed) => GUESTS.filter((guest) => guest.startsWith(typed)));
  server.registerPrompt('greet', { argsSchema: z.object({ who }) }, ({ who }) => greeting(who));
  return server;
}
