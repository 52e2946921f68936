import { McpServer } from '@modelcontextprotocol/server';
import { expect } from 'vitest';
import type { Call, Caller } from '../../src/core/call.ts';
import { verifies } from '../requirements.ts';
import { temporaryHeddle } from '../temporary-heddle.ts';
import { until } from '../until.ts';

const client: Caller = { id: 'key:ada', roles: ['user'], via: 'gateway' };

/** Returns a server that lists its prompts only after `release`. */
function slowServer() {
  const released = Promise.withResolvers<void>();
  const server = new McpServer({ name: 'slow', version: '1' });
  server.registerTool('ping', {}, async () => ({ content: [] }));
  server.registerPrompt('greet', {}, async () => ({
    messages: [{ role: 'user', content: { type: 'text', text: 'hi' } }],
  }));
  const list = server.server.setRequestHandler.bind(server.server);
  list('prompts/list', async () => {
    await released.promise;
    return { prompts: [{ name: 'greet' }] };
  });
  return { server, release: released.resolve };
}

const getPrompt = (name: string, caller: Caller): Call => ({
  ...{ id: crypto.randomUUID(), kind: 'prompt', name, input: {}, meta: {}, caller, options: {} },
  signal: new AbortController().signal,
});

verifies('R6', 'waits for prompts that a new connection has not listed yet', async () => {
  for (const [name, caller] of [
    ['mcp__slow__greet', client],
    ['greet', { ...client, profile: 'bare' }],
  ] as const) {
    const { server, release } = slowServer();
    const config = { profiles: { bare: { naming: 'bare' } } };
    const heddle = await temporaryHeddle({ config, servers: { slow: server }, autoConnect: false });
    const got = heddle.dispatch(getPrompt(name, caller));
    const owner: Caller = { id: 'local:test', roles: ['owner'], via: 'cli' };
    const state = async () => (await heddle.servers.list(owner)).find((one) => one.name === 'slow')?.state;
    await until('the connection no longer waits for the prompts', async () => (await state()) === 'connected');
    release();
    await expect(got).resolves.toMatchObject({ kind: 'complete' });
    await heddle.close();
  }
});
