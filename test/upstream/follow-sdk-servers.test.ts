import { expect, onTestFinished } from 'vitest';
import type { RemoteEntry } from '../../src/config/schema/schema.ts';
import { NO_CAPABILITIES } from '../../src/core/call/client-capabilities.ts';
import type { JsonObject } from '../../src/core/call.ts';
import type { Connect } from '../../src/upstream/connection.ts';
import { entryOf } from '../../src/upstream/fixtures.ts';
import { connectHttp } from '../../src/upstream/transports/connect-http.ts';
import { connectInMemory } from '../../src/upstream/transports/connect-in-memory.ts';
import { httpPool } from '../../src/upstream/transports/http-pool.ts';
import { verifies } from '../requirements.ts';
import { changingHttpServer, changingLegacyServer, changingStdioServer } from '../servers/changing-servers.ts';
import { until } from '../until.ts';

const TOOLS = 'notifications/tools/list_changed';
const RESOURCES = 'notifications/resources/list_changed';
const PROMPTS = 'notifications/prompts/list_changed';
const UPDATED = 'notifications/resources/updated';
const NOTE = 'note://one';
const { signal } = new AbortController();

async function connected(connect: Connect) {
  const received: [string, JsonObject][] = [];
  const hear = (method: string, params: JsonObject) => void received.push([method, params]);
  const connection = await connect({
    server: 'demo',
    signal,
    known: undefined,
    capabilities: NO_CAPABILITIES,
    onNotification: hear,
  });
  onTestFinished(() => connection.close());
  const methods = () => received.map(([method]) => method);
  return { connection, received, methods, hasReceived: (method: string) => methods().includes(method) };
}

async function overHttp() {
  const server = await changingHttpServer();
  const pool = httpPool();
  onTestFinished(async () => {
    await pool.close();
    await server.close();
  });
  return { server, ...(await connected(connectHttp(entryOf<RemoteEntry>({ url: server.url }), pool))) };
}

verifies('T8', 'fetches all lists of an SDK server', async () => {
  const { connection } = await overHttp();
  const lists = (['tools', 'resources', 'templates', 'prompts'] as const).map((kind) => connection.list(kind, signal));
  const [tools, resources, templates, prompts] = await Promise.all(lists);
  expect(tools).toMatchObject([{ name: 'first' }]);
  expect(resources).toMatchObject([{ uri: NOTE }]);
  expect(templates).toEqual([]);
  expect(prompts).toMatchObject([{ name: 'greet' }]);
});

verifies('T8', 'receives changes of an SDK server over HTTP, also after the server has ended the stream', async () => {
  const { server, received, hasReceived, methods } = await overHttp();
  await until('the change of tools is received', () => {
    if (!hasReceived(TOOLS)) server.notify.toolsChanged(); // Notifications before the acknowledgement are lost.
    return hasReceived(TOOLS);
  });
  server.notify.promptsChanged();
  await until('the change of prompts is received', () => hasReceived(PROMPTS));
  expect(received.at(-1)).toEqual([PROMPTS, {}]);

  received.length = 0;
  await server.endListens();
  await until('all lists are announced', () => received.length >= 3);
  expect(methods()).toEqual([TOOLS, PROMPTS, RESOURCES]);
  server.notify.resourcesChanged();
  await until('the next change is received', () => received.length === 4);
  expect(received.at(-1)).toEqual([RESOURCES, {}]);
});

verifies('R6', 'receives updates of a resource over HTTP from subscribe to unsubscribe', async () => {
  const { server, connection, received } = await overHttp();
  await connection.subscribe(NOTE, signal);
  server.notify.resourceUpdated('note://other');
  server.notify.resourceUpdated(NOTE);
  await until('the update is received', () => received.length > 0);
  expect(received).toEqual([[UPDATED, { uri: NOTE }]]);
  await connection.unsubscribe(NOTE, signal);
  await until('the server no longer tells', async () => {
    const before = received.length;
    server.notify.resourceUpdated(NOTE);
    server.notify.toolsChanged();
    await until('the change of tools is received', () => received.slice(before).some(([method]) => method === TOOLS));
    return !received.slice(before).some(([method]) => method === UPDATED);
  });
});

verifies('T8', 'receives changes of an SDK server in process, with and without subscription id', async () => {
  const { serve, servers } = changingStdioServer();
  const { connection, received, hasReceived } = await connected(connectInMemory(serve));
  expect(connection.agreement.era).toBe('modern');
  await connection.subscribe(NOTE, signal);
  servers.at(-1)?.sendToolListChanged();
  await servers.at(-1)?.server.sendResourceUpdated({ uri: NOTE });
  await until('both are received', () => hasReceived(TOOLS) && hasReceived(UPDATED));
  expect(received).toEqual([
    [TOOLS, {}],
    [UPDATED, { uri: NOTE }],
  ]);
  await connection.drain();
});

verifies('R6', 'subscribes to a legacy SDK server and receives its changes', async () => {
  const { serve, server, subscribed } = changingLegacyServer();
  const { connection, received } = await connected(connectInMemory(serve));
  expect(connection.agreement.era).toBe('legacy');
  await connection.subscribe(NOTE, signal);
  expect([...subscribed]).toEqual([NOTE]);
  server.sendToolListChanged();
  await server.server.sendResourceUpdated({ uri: NOTE });
  await until('both are received', () => received.length === 2);
  expect(received.map(([method]) => method)).toEqual([TOOLS, UPDATED]);
  await connection.unsubscribe(NOTE, signal);
  expect([...subscribed]).toEqual([]);
});
