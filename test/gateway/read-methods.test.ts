import { Client as NewClient, StreamableHTTPClientTransport as NewHttp } from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OldHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, onTestFinished } from 'vitest';
import type { JsonObject } from '../../src/core/call.ts';
import { type GatewayUnderTest, gatewayUnderTest, modern, openSession, TOKEN } from '../../src/gateway/fixtures.ts';
import { RpcError } from '../../src/wire/json-rpc.ts';
import { verifies } from '../requirements.ts';
import { recordingServer } from '../servers/recording-server.ts';
import { type ResourceServerOptions, resourceServer, textAt } from '../servers/resource-server.ts';
import { until } from '../until.ts';

const NOTES: ResourceServerOptions = {
  resources: [
    { uri: 'note://one', name: 'one', custom: { kept: true } },
    { uri: 'note://two', name: 2, size: 'big' },
  ],
  templates: [{ uriTemplate: 'note://by-day/{day}', name: 'by day' }],
  prompts: [{ name: 'greet', description: 'd'.repeat(3000), arguments: [{ name: 'who', required: true }] }],
  complete: () => ({ completion: { values: ['Ada'], total: 1, custom: 'kept' } }),
};

async function send(
  { post }: Pick<GatewayUnderTest, 'post'>,
  era: 'legacy' | 'modern',
  method: string,
  params: JsonObject = {},
) {
  if (era === 'legacy') return (await post({ id: 1, method, params })).json;
  const [message, headers] = modern(method, params);
  const name = params.uri ?? params.name;
  return (await post(message, { ...headers, ...(typeof name === 'string' && { 'mcp-name': name }) })).json;
}

describe.each(['legacy', 'modern'] as const)('a %s client', (era) => {
  verifies('P1', 'lists resources, templates and prompts as their servers wrote them, under public names', async () => {
    const gateway = await gatewayUnderTest({ servers: { notes: resourceServer(NOTES) } });
    const list = async (method: string) => ((await send(gateway, era, method)).result as JsonObject) ?? {};
    expect((await list('resources/list')).resources).toEqual([
      { uri: 'note://one', name: 'one', custom: { kept: true } },
      { uri: 'note://two', name: 'note://two' },
    ]);
    expect((await list('resources/templates/list')).resourceTemplates).toEqual(NOTES.templates);
    const [prompt] = (await list('prompts/list')).prompts as [JsonObject];
    expect(prompt).toMatchObject({ name: 'mcp__notes__greet', arguments: [{ name: 'who', required: true }] });
    expect(prompt.description).toBe(NOTES.prompts?.[0]?.description);
    expect('ttlMs' in (await list('prompts/list'))).toBe(era === 'modern');
  });

  verifies('P1', 'passes the results of servers unchanged', async () => {
    const read = { contents: [{ uri: 'note://one', text: 'x', custom: 1 }], custom: { two: 2 }, _meta: { mine: true } };
    const get = { messages: [{ role: 'user', content: { type: 'unknown-type', x: 1 } }], custom: 3 };
    const server = resourceServer({ ...NOTES, read: () => read, get: () => get });
    const gateway = await gatewayUnderTest({ servers: { notes: server } });
    const extra = era === 'modern' ? { resultType: 'complete' } : {};
    const uncached = era === 'modern' ? { ttlMs: 0, cacheScope: 'private' } : {};
    expect((await send(gateway, era, 'resources/read', { uri: 'note://one' })).result).toEqual({
      ...read,
      ...extra,
      ...uncached,
    });
    const params = { name: 'mcp__notes__greet', arguments: { who: 'Ada' } };
    expect((await send(gateway, era, 'prompts/get', params)).result).toEqual({ ...get, ...extra });
    const ref = { type: 'ref/prompt', name: 'mcp__notes__greet' };
    const argument = { name: 'who', value: 'A' };
    const completed = await send(gateway, era, 'completion/complete', { ref, argument });
    expect(completed.result).toEqual({ completion: { values: ['Ada'], total: 1, custom: 'kept' }, ...extra });
    expect(server.requests.at(-1)?.[1]).toMatchObject({ ref: { type: 'ref/prompt', name: 'greet' }, argument });
  });

  verifies(
    'P1',
    'gets the JSON-RPC error of its era for an unknown name, a denial and invalid parameters',
    async () => {
      const config = { approvals: { keepOpenMs: 0 }, permissions: { ask: ['note://two'] } };
      const gateway = await gatewayUnderTest({ servers: { notes: resourceServer(NOTES) }, config });
      const error = async (method: string, params: JsonObject) => (await send(gateway, era, method, params)).error;
      expect(await error('resources/read', { uri: 'gone://x' })).toMatchObject({
        code: era === 'modern' ? -32602 : -32002,
        data: { code: 'NAME_UNKNOWN', uri: 'gone://x' },
      });
      expect(await error('resources/read', { uri: 'note://two' })).toMatchObject({
        code: -32600,
        data: { code: 'APPROVAL_PENDING', uri: 'note://two' },
      });
      expect(await error('resources/read', {})).toMatchObject({ code: -32602 });
      expect(await error('prompts/get', { name: 'nothing' })).toMatchObject({
        code: -32602,
        data: { code: 'NAME_UNKNOWN' },
      });
      expect(await error('prompts/get', { name: 'mcp__notes__greet' })).toMatchObject({
        code: -32602,
        data: { code: 'INPUT_INVALID' },
      });
      expect(await error('prompts/get', { name: 'mcp__notes__greet', arguments: 1 })).toMatchObject({ code: -32602 });
      for (const ref of [1, { type: 'ref/tool', name: 'x' }, { type: 'ref/prompt' }]) {
        expect(await error('completion/complete', { ref, argument: { name: 'a', value: '' } })).toMatchObject({
          code: -32602,
        });
      }
    },
  );

  verifies('P1', 'gets the message of a server that does not find a resource it lists', async () => {
    const read = () => Promise.reject(new RpcError(-32002, 'Not any more', { uri: 'u:1' }));
    const gateway = await gatewayUnderTest({
      servers: { lying: resourceServer({ resources: [{ uri: 'u:1' }], read }) },
    });
    expect((await send(gateway, era, 'resources/read', { uri: 'u:1' })).error).toEqual({
      code: era === 'modern' ? -32602 : -32002,
      message: 'Not any more',
      data: { uri: 'u:1' },
    });
  });

  verifies('P1', 'sees the server capabilities that some server has', async () => {
    const capabilities = async (servers: NonNullable<Parameters<typeof gatewayUnderTest>[0]>['servers']) => {
      const gateway = await gatewayUnderTest({ ...(servers && { servers }) });
      const hello = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '0' } };
      const response = await send(
        gateway,
        era,
        era === 'modern' ? 'server/discover' : 'initialize',
        era === 'modern' ? {} : hello,
      );
      return (response.result as JsonObject).capabilities;
    };
    const known = era === 'modern' ? { extensions: { 'io.modelcontextprotocol/tasks': {} } } : {};
    const always = { tools: { listChanged: true }, logging: {}, ...known };
    expect(await capabilities({ plain: recordingServer({}) })).toEqual(always);
    expect(await capabilities({ notes: resourceServer(NOTES) })).toEqual({
      ...always,
      resources: { subscribe: true, listChanged: true },
      prompts: { listChanged: true },
      completions: {},
    });
    expect(await capabilities({ notes: resourceServer({ prompts: [] }) })).toEqual({
      ...always,
      prompts: { listChanged: true },
    });
  });
});

verifies('R6', 'sends resource updates to subscribed sessions over one upstream subscription', async () => {
  const server = resourceServer(NOTES);
  const { url, post } = await gatewayUnderTest({ servers: { notes: server } });
  const updates: string[][] = [[], []];
  const clients = await Promise.all(
    updates.map(async (one) => {
      const client = new OldClient({ name: 'test', version: '0' });
      const transport = new OldHttp(new URL(url), { requestInit: { headers: { authorization: `Bearer ${TOKEN}` } } });
      await client.connect(transport as never);
      onTestFinished(() => client.close());
      client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => void one.push(params.uri));
      return { client, transport };
    }),
  );
  const [first, second] = clients as [(typeof clients)[0], (typeof clients)[0]];
  await first.client.subscribeResource({ uri: 'note://one' });
  await first.client.subscribeResource({ uri: 'note://one' });
  await second.client.subscribeResource({ uri: 'heddle://notes/note://one' });
  expect(server.count('resources/subscribe')).toBe(1);
  await until('both clients have the update', () => {
    server.update('note://one');
    return updates.every(({ length }) => length > 0);
  });
  expect(new Set(updates[0])).toEqual(new Set(['note://one']));
  expect(new Set(updates[1])).toEqual(new Set(['heddle://notes/note://one']));

  await first.client.unsubscribeResource({ uri: 'note://one' });
  expect(server.subscribedUris.size).toBe(1);
  const before = updates[0]?.length;
  const count = updates[1]?.length ?? 0;
  server.update('note://one');
  await until('the other client has the update', () => (updates[1]?.length ?? 0) > count);
  expect(updates[0]?.length).toBe(before);
  await second.transport.terminateSession();
  await until('the server has no subscription', () => server.subscribedUris.size === 0);
  const { json } = await post({ id: 1, method: 'resources/subscribe', params: { uri: 'note://one' } });
  expect(json.error).toMatchObject({ code: -32600 });
});

verifies('R6', 'sends resource updates and list changes to a client with subscriptions/listen', async () => {
  const server = resourceServer(NOTES);
  const { url } = await gatewayUnderTest({ servers: { notes: server } });
  const client = new NewClient({ name: 'test', version: '0' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
  await client.connect(new NewHttp(new URL(url), { requestInit: { headers: { authorization: `Bearer ${TOKEN}` } } }));
  onTestFinished(() => client.close());
  expect((await client.listResources()).resources).toHaveLength(2);
  expect((await client.readResource({ uri: 'note://one' })).contents).toEqual(
    textAt('note://one', 'at note://one').contents,
  );
  const updates: string[] = [];
  for (const list of ['resources', 'prompts', 'tools'] as const) {
    client.setNotificationHandler(`notifications/${list}/list_changed`, () => void updates.push(list));
  }
  client.setNotificationHandler('notifications/resources/updated', ({ params }) => void updates.push(params.uri));
  const listening = await client.listen({
    resourcesListChanged: true,
    promptsListChanged: true,
    resourceSubscriptions: ['note://one', 'gone://x'],
  });
  expect(listening.honoredFilter).toEqual({
    resourcesListChanged: true,
    promptsListChanged: true,
    resourceSubscriptions: ['note://one'],
  });
  server.update('note://one');
  await until('the update has come', () => updates.includes('note://one'));
  server.change({ resources: [], prompts: [] });
  await until('the list changes have come', () => updates.includes('resources') && updates.includes('prompts'));
  expect(updates).not.toContain('tools');
  await listening.close();
  await until('the server has no subscription', () => server.subscribedUris.size === 0);
});

verifies('R7', 'caches the result of a modern server for its ttlMs and reduces the ttlMs it passes on', async () => {
  const server = resourceServer({
    ...NOTES,
    era: 'modern',
    read: (uri) => ({ ...textAt(uri, 'x'), ttlMs: 60_000, cacheScope: 'private' }),
  });
  const gateway = await gatewayUnderTest({ servers: { notes: server } });
  const read = async () =>
    (await send(gateway, 'modern', 'resources/read', { uri: 'note://one' })).result as JsonObject;
  await read();
  const again = await read();
  expect(server.count('resources/read')).toBe(1);
  expect(again).toMatchObject({ cacheScope: 'private', contents: textAt('note://one', 'x').contents });
  expect(again.ttlMs).toBeLessThanOrEqual(60_000);
  await send(gateway, 'legacy', 'resources/read', { uri: 'note://one' });
  expect(server.count('resources/read')).toBe(1);
  server.change({});
  await until('the cached result is dropped', async () => {
    await read();
    return server.count('resources/read') === 2;
  });
  await server.drop();
  await until('a new connection has an empty cache', async () => {
    await read().catch(() => {});
    return server.count('resources/read') === 3;
  });
});

verifies('R6', 'ends its subscriptions when the gateway closes, although Heddle stays open', async () => {
  const server = resourceServer(NOTES);
  const { heddle } = await gatewayUnderTest({ servers: { notes: server } });
  const other = await gatewayUnderTest({ gateway: { heddle } });
  const session = await openSession(other);
  await other.post({ id: 1, method: 'resources/subscribe', params: { uri: 'note://one' } }, session);
  expect(server.subscribedUris.size).toBe(1);
  await other.close();
  await until('the server has no subscription', () => server.subscribedUris.size === 0);
});
