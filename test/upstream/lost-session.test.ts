import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { Agent } from 'undici';
import { expect, onTestFinished } from 'vitest';
import { NO_CAPABILITIES } from '../../src/core/call/client-capabilities.ts';
import type { JsonObject } from '../../src/core/call.ts';
import type { Connect } from '../../src/upstream/connection.ts';
import { suspendedCalls } from '../../src/upstream/elicitation/suspended-calls.ts';
import { fakeTime, memoryBook, planOf, toolCall } from '../../src/upstream/fixtures.ts';
import { openServerCache } from '../../src/upstream/lifecycle/server-cache.ts';
import { openConnection } from '../../src/upstream/protocol/open-connection.ts';
import { openServers, type Servers } from '../../src/upstream/servers.ts';
import { SESSION_LOST } from '../../src/upstream/transports/http-failure.ts';
import { HttpClientTransport } from '../../src/upstream/transports/http-transport.ts';
import { verifies } from '../requirements.ts';
import { listen } from '../servers/http-servers.ts';
import { until } from '../until.ts';

const { signal } = new AbortController();
const URI = 'note://one';
const ADA = toolCall(
  'do',
  {},
  {
    caller: { id: 'ada', roles: ['user'], via: 'gateway' },
    capabilities: { ...NO_CAPABILITIES, form: true },
  },
);
const RESULTS: Readonly<Record<string, JsonObject>> = {
  initialize: {
    protocolVersion: '2025-11-25',
    serverInfo: { name: 'demo', version: '1' },
    capabilities: { tools: { listChanged: true }, resources: { subscribe: true } },
  },
  'resources/list': { resources: [] },
  'resources/templates/list': { resourceTemplates: [] },
  'tools/call': { content: [] },
};

interface Session {
  isSubscribed: boolean;
  stream: ServerResponse | undefined;
}

/** A legacy server with sessions and GET streams. `restart` ends all streams and sessions. */
async function sessionServer() {
  const sessions = new Map<string, Session>();
  let tools: readonly JsonObject[] = [{ name: 'old' }];
  let keepsSessions = true;

  function respond(message: JsonObject, session: Session): JsonObject {
    if (message.method === 'resources/subscribe') session.isSubscribed = true;
    return message.method === 'tools/list' ? { tools } : (RESULTS[String(message.method)] ?? {});
  }

  function begin(): string {
    const id = randomUUID();
    sessions.set(id, { isSubscribed: false, stream: undefined });
    return id;
  }

  const http = await listen(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    const message = (body ? JSON.parse(body) : {}) as JsonObject;
    if (message.method === 'server/discover') return response.writeHead(400).end();
    const id = message.method === 'initialize' ? begin() : String(request.headers['mcp-session-id']);
    const session = sessions.get(id);
    if (!session) return response.writeHead(404).end();
    if (!keepsSessions) sessions.clear();
    if (request.method === 'GET') {
      session.stream = response.writeHead(200, { 'content-type': 'text/event-stream' });
      return response.write(': open\n\n');
    }
    if (message.id === undefined) return response.writeHead(202).end();
    response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': id });
    response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, result: respond(message, session) }));
  });
  const all = () => [...sessions.values()];
  return {
    ...http,
    /** Returns the number of sessions with a subscription and an open stream. */
    following: () => all().filter(({ isSubscribed, stream }) => isSubscribed && stream).length,
    streams: () => all().filter(({ stream }) => stream).length,
    update() {
      const note = { jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri: URI } };
      for (const { stream } of all()) stream?.write(`data: ${JSON.stringify(note)}\n\n`);
    },
    keepNoSession() {
      keepsSessions = false;
    },
    restart(next: readonly JsonObject[] = tools) {
      const before = all();
      sessions.clear();
      tools = next;
      for (const { stream } of before) stream?.end();
    },
  };
}

const isFailed = (servers: Servers) => servers.statusOf('demo')?.state === 'failed';

/** Opens the server behind `openServers`, with the GET stream opened again after 5 ms. */
async function openDemo() {
  const server = await sessionServer();
  const dispatcher = new Agent({ headersTimeout: 0, bodyTimeout: 0 });
  const connect: Connect = async (options) => {
    const url = new URL(server.url);
    const transport = new HttpClientTransport({ server: 'demo', url, dispatcher, retryMs: 5 });
    const onLegacyVersion = (version: string) => transport.setProtocolVersion(version);
    const hasLostSession = () => transport.closeReason() === SESSION_LOST;
    const connection = await openConnection({ ...options, transport, onLegacyVersion, hasLostSession });
    transport.onStreamNotFound = () => void connection.probe(signal).catch(() => {});
    return connection;
  };
  const time = fakeTime();
  const updated: string[] = [];
  const shared: unknown[] = [];
  const own: unknown[] = [];
  const servers = openServers({
    plans: [planOf({ connect, local: false, transport: 'http' })],
    suspendedCalls: suspendedCalls(),
    cache: openServerCache({ saved: [], book: memoryBook() }),
    localConcurrency: 3,
    remoteConcurrency: 20,
    ...time,
    onStatus: () => {},
    onList: (_, kind, items) => kind === 'tools' && shared.push(items),
    onPrivateList: (_, user, { kind, items }) => kind === 'tools' && own.push([user.principal, items]),
    onNotification: (_, method, __, user) => method.endsWith('/updated') && updated.push(user?.principal ?? 'shared'),
  });
  onTestFinished(async () => {
    await servers.close();
    await dispatcher.destroy();
    await server.close();
  });
  return { server, servers, time, updated, shared, own };
}

verifies('T5', 'restores subscriptions and lists after a server has lost its sessions, without a call', async () => {
  const { server, servers, time, updated, shared, own } = await openDemo();
  await servers.subscribe('demo', { uri: URI, user: undefined }, signal);
  await servers.subscribe('demo', { uri: URI, user: ADA }, signal);
  await until('both connections have a stream', () => server.following() === 2);
  time.pass(5000); // A private connection that was open for so long is opened again at once.

  server.restart([{ name: 'new' }]);
  await until('the shared connection has closed', () => servers.connected('demo') === undefined);
  time.pass(5000);
  await until('both connections have a stream again', () => server.following() === 2);
  await until('the new tools are listed on both', () => shared.length === 2 && own.length === 2);
  expect([shared[1], own[1]]).toEqual([[{ name: 'new' }], ['ada', [{ name: 'new' }]]]);
  await until('both users are notified of what may have been missed', () => updated.length === 2);
  server.update();
  await until('both users are notified', () => updated.length === 4);
  expect(updated.sort()).toEqual(['ada', 'ada', 'shared', 'shared']);
});

verifies('T5', 'connects a server that loses its session every 2 s, however often', async () => {
  const { server, servers, time } = await openDemo();
  const call = toolCall('do');
  for (let loss = 0; loss < 8; loss++) {
    const connection = await servers.connectionFor('demo', call, signal);
    await expect(connection.send(call)).resolves.toMatchObject({ kind: 'complete' });
    await until('its stream is open', () => server.streams() === 1);
    time.pass(2000);
    server.restart();
    await until('the connection has closed', () => servers.connected('demo') === undefined);
    const reason = 'demo no longer knew the session, so its connection was closed.';
    expect(servers.statusOf('demo')).toMatchObject({ state: 'pending', attempt: [1, 3], reason });
  }
});

verifies('T5', 'fails a server that loses each session before its first response', async () => {
  const { server, servers, time } = await openDemo();
  await servers.connect('demo', signal);
  await until('its stream is open', () => server.streams() === 1);
  server.restart();
  server.keepNoSession();
  await until('the connection has closed', () => servers.connected('demo') === undefined);
  for (const attempt of [1, 2, 3]) {
    expect(servers.statusOf('demo')).toMatchObject({ state: 'pending', attempt: [attempt, 3] });
    time.pass(5000 * attempt);
    await until('the attempt has failed', () => servers.statusOf('demo')?.attempt[0] !== attempt || isFailed(servers));
  }
  expect(servers.statusOf('demo')).toMatchObject({ state: 'failed', reason: expect.stringContaining('the session') });
  expect(time.timers()).toBe(2); // The health checks and the upkeep.
});
