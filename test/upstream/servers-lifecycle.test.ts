import { expect, onTestFinished } from 'vitest';
import { NO_CAPABILITIES } from '../../src/core/call/client-capabilities.ts';
import { HeddleError, UpstreamError } from '../../src/core/errors.ts';
import type { ServerEvent, ServerStatus } from '../../src/core/records/server-status.ts';
import type { Connect } from '../../src/upstream/connection.ts';
import { suspendedCalls } from '../../src/upstream/elicitation/suspended-calls.ts';
import {
  fakeTime,
  HELLO,
  memoryBook,
  never,
  planOf,
  type TinyServer,
  tinyServer,
  toolCall,
} from '../../src/upstream/fixtures.ts';
import type { ServerPlan } from '../../src/upstream/lifecycle/plan-server.ts';
import { openServerCache } from '../../src/upstream/lifecycle/server-cache.ts';
import { openServers } from '../../src/upstream/servers.ts';
import { connectInMemory } from '../../src/upstream/transports/connect-in-memory.ts';
import { verifies } from '../requirements.ts';
import { until } from '../until.ts';

const signal = new AbortController().signal;
const UPDATED = 'notifications/resources/updated';
const off = new HeddleError('SERVER_DISABLED', 'demo is disabled.');

/** Opens servers of these plans with a fake clock, and records their events and notifications. */
function open(plans: readonly ServerPlan[]) {
  const published: [string, ServerEvent, ServerStatus['state']][] = [];
  const notes: (readonly [string, string, unknown])[] = [];
  const time = fakeTime();
  const servers = openServers({
    plans,
    suspendedCalls: suspendedCalls(),
    cache: openServerCache({ saved: [], book: memoryBook() }),
    localConcurrency: 3,
    remoteConcurrency: 20,
    ...time,
    onStatus: ({ name, state }, event) => published.push([name, event, state]),
    onList: () => {},
    onNotification: (server, method, params) => notes.push([server, method, params]),
  });
  onTestFinished(() => servers.close());
  return {
    servers,
    published,
    notes,
    time,
    status: (name = 'demo') => servers.status().find((one) => one.name === name),
  };
}

const over = (tiny: TinyServer, more: Partial<ServerPlan> = {}) =>
  planOf({ connect: connectInMemory(tiny.serve), ...more });

verifies('T2', 'reports when a server is added, replaced and removed, and has no status of a removed one', async () => {
  const [first, second] = [tinyServer(), tinyServer()];
  const { servers, published, status, time } = open([over(first), over(tinyServer(), { name: 'other', connect: off })]);
  expect(published.splice(0)).toEqual([
    ['demo', 'registered', 'pending'],
    ['other', 'registered', 'disabled'],
    ['other', 'disabled', 'disabled'],
  ]);
  const connection = await servers.connect('demo', signal);
  published.length = 0;
  servers.update([over(second, { revision: '2' })]);
  expect(published.splice(0)).toEqual([
    ['demo', 'closed', 'connected'],
    ['other', 'closed', 'disabled'],
    ['demo', 'registered', 'pending'],
  ]);
  await connection.closed;
  time.pass(100_000);
  expect([servers.status().length, status()?.state, published]).toEqual([1, 'pending', []]);
  servers.update([over(second, { revision: '3', connect: off })]);
  expect(published.splice(0).map(([, event]) => event)).toEqual(['closed', 'registered', 'disabled']);
  await servers.close();
  expect(published).toEqual([['demo', 'closed', 'disabled']]);
});

verifies('C13', 'ends a call in flight on its connection, and sends the next call to the new server', async () => {
  const answer = Promise.withResolvers<{ content: [] }>();
  const [first, second] = [tinyServer({ 'tools/call': () => answer.promise }), tinyServer()];
  const { servers, notes } = open([over(first)]);
  const connection = await servers.connect('demo', signal);
  const sent = connection.send(toolCall('slow'));
  servers.update([over(second, { revision: '2' })]);
  expect(servers.ready('demo', toolCall('slow'))).toBeUndefined();
  expect(await servers.connectionFor('demo', toolCall('slow'), signal)).not.toBe(connection);
  await first.transports[0]?.notify('notifications/message', { data: 'I am old.' });
  await second.transports[0]?.notify('notifications/message', { data: 'I am new.' });
  await until('the new one is heard', () => notes.length > 0);
  expect(notes).toEqual([['demo', 'notifications/message', { data: 'I am new.' }]]);
  answer.resolve({ content: [] });
  await expect(sent).resolves.toMatchObject({ kind: 'complete' });
  await connection.closed;
});

verifies('T5', 'retries the first connect of servers with autoConnect, without a caller', async () => {
  let refuse = true;
  const tiny = tinyServer();
  const gone = new UpstreamError('UPSTREAM_UNREACHABLE', 'Not yet.', { delivered: 'no' });
  const inMemory = connectInMemory(tiny.serve);
  const { servers, status, time } = open([
    planOf({ autoConnect: true, connect: (options) => (refuse ? Promise.reject(gone) : inMemory(options)) }),
  ]);
  servers.start();
  await until('it was refused', () => status()?.attempt[0] === 2);
  expect(status()).toMatchObject({ state: 'pending', attempt: [2, 3], reason: 'Not yet.' });
  refuse = false;
  time.pass(10_000);
  await until('it is there', () => status()?.state === 'connected');
});

verifies('T5', 'leaves no timer after close, in any state', async () => {
  const [connected, lost, slow] = [tinyServer(), tinyServer(), tinyServer({ initialize: () => new Promise(() => {}) })];
  const { servers, time, status } = open([
    over(connected, { name: 'connected' }),
    over(lost, { name: 'lost' }),
    over(slow, { name: 'slow' }),
    over(tinyServer(), { name: 'idle' }),
  ]);
  await Promise.all([servers.connect('connected', signal), servers.connect('lost', signal)]);
  const connecting = expect(servers.connect('slow', signal)).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
  await lost.transports[0]?.close();
  await until('it has noticed', () => status('lost')?.state === 'pending');
  await connected.transports[0]?.notify('notifications/tools/list_changed');
  await new Promise(setImmediate);
  await servers.close();
  await connecting;
  expect(time.timers()).toBe(0);
});

verifies('T7', 'probes all servers every 30 s', async () => {
  const probed: string[] = [];
  const connect: Connect = async (options) => {
    const connection = await connectInMemory(tinyServer().serve)(options);
    const probe = (until: AbortSignal) => {
      probed.push(options.server);
      return connection.probe(until);
    };
    return { ...connection, probe };
  };
  const { servers, time } = open(['s0', 's1', 'idle'].map((name) => planOf({ name, connect })));
  await Promise.all(['s0', 's1'].map((name) => servers.connect(name, signal)));
  expect([servers.statusOf('s0')?.health, servers.statusOf('unheard-of')]).toEqual(['ok', undefined]);
  time.pass(29_999);
  expect(probed).toEqual([]);
  time.pass(1);
  expect(probed).toEqual(['s0', 's1']);
  await new Promise(setImmediate);
  time.pass(30_000);
  expect(probed).toHaveLength(4);
});

const resourceful = () =>
  tinyServer({
    initialize: () => ({ ...HELLO, capabilities: { tools: {}, resources: { subscribe: true } } }),
    'resources/list': () => ({ resources: [] }),
    'resources/templates/list': () => ({ resourceTemplates: [] }),
    'resources/subscribe': () => ({}),
    'resources/unsubscribe': () => ({}),
  });
const count = ({ requests }: TinyServer, method: string) => requests.filter((one) => one === method).length;

verifies('T8', 'keeps a subscription over a reconnect and a replaced server', async () => {
  const [first, second] = [resourceful(), resourceful()];
  const { servers, notes } = open([over(first)]);
  await servers.subscribe('demo', { uri: 'a:b', user: undefined }, signal);
  await servers.subscribe('demo', { uri: 'a:b', user: undefined }, signal);
  expect(count(first, 'resources/subscribe')).toBe(1);
  await first.transports[0]?.notify(UPDATED, { uri: 'a:b' });
  await until('the notification has arrived', () => notes.length === 1);
  expect(notes[0]).toEqual(['demo', UPDATED, { uri: 'a:b' }]);
  await servers.disconnect('demo');
  await servers.connect('demo', signal);
  await until('it is subscribed again', () => count(first, 'resources/subscribe') === 2);
  servers.update([over(second, { revision: '2' })]);
  await servers.connect('demo', signal);
  await until('it is subscribed there', () => count(second, 'resources/subscribe') === 1);
  await servers.unsubscribe('demo', { uri: 'a:b', user: undefined }, signal);
  expect(count(second, 'resources/unsubscribe')).toBe(0);
  await servers.unsubscribe('demo', { uri: 'a:b', user: undefined }, signal);
  expect(count(second, 'resources/unsubscribe')).toBe(1);
});

verifies('T9', 'sends a notification of a program to a server', async () => {
  const tiny = tinyServer();
  const { servers } = open([over(tiny)]);
  const notification = { method: 'ide/opened', params: { file: 'a.ts' } };
  await servers.notify('demo', notification, signal);
  await expect(servers.notify('none', notification, signal)).rejects.toMatchObject({ code: 'NAME_UNKNOWN' });
  await until('the notification has arrived', () => tiny.notifications.length === 2);
  expect(tiny.notifications).toEqual([
    ['notifications/initialized', {}],
    ['ide/opened', { file: 'a.ts' }],
  ]);
});

verifies('C13', 'closes the connections of replaced servers, private ones included', async () => {
  const [first, second] = [tinyServer({ 'tools/call': never }), tinyServer()];
  const { servers } = open([over(first)]);
  const call = toolCall('slow', {}, { capabilities: { ...NO_CAPABILITIES, form: true } });
  const connections = [await servers.connect('demo', signal), await servers.connectionFor('demo', call, signal)];
  expect(new Set(connections).size).toBe(2);
  const calls = connections.map((connection) => connection.send(toolCall('slow')));
  const ended = Promise.allSettled(calls);
  servers.update([over(second, { revision: '2' })]);
  await until('both calls are in flight', () => count(first, 'tools/call') === 2);
  await servers.close();
  await Promise.all(connections.map((connection) => connection.closed));
  expect(await ended).toMatchObject([{ reason: { code: 'UPSTREAM_FAILED' } }, { reason: { code: 'UPSTREAM_FAILED' } }]);
});

verifies('T8', 'connects a replaced server that has subscriptions', async () => {
  const [first, second, third] = [resourceful(), resourceful(), resourceful()];
  const { servers } = open([over(first)]);
  await servers.subscribe('demo', { uri: 'a:b', user: undefined }, signal);
  servers.update([over(second, { revision: '2' })]);
  await until('it is subscribed there', () => count(second, 'resources/subscribe') === 1);
  await servers.unsubscribe('demo', { uri: 'a:b', user: undefined }, signal);
  servers.update([over(third, { revision: '3' })]);
  await new Promise(setImmediate);
  expect(third.requests).toEqual([]);
});
