import { expect, it, onTestFinished } from 'vitest';
import { verifies } from '../../../../test/requirements.ts';
import { NO_CAPABILITIES } from '../../../core/call/client-capabilities.ts';
import type { Connection } from '../../connection.ts';
import { fakeTime, never, planOf, tinyServer } from '../../fixtures.ts';
import { connectInMemory } from '../../transports/connect-in-memory.ts';
import { callOf, turn } from '../fixtures.ts';
import type { ConnectionOwner } from './private-connection.ts';
import { PrivateConnections } from './private-connections.ts';

const signal = new AbortController().signal;

/** An owner with real connections, without a `Server`. */
function owner(
  name: string,
  answers: Parameters<typeof tinyServer>[0] = {},
): ConnectionOwner & { connections: Connection[] } {
  const connect = connectInMemory(tinyServer({ 'tools/call': never, ...answers }).serve);
  const connections: Connection[] = [];
  return {
    name,
    plan: planOf({ connect }),
    connections,
    follow: () => undefined,
    async openConnection({ capabilities = NO_CAPABILITIES }, { onNotification }) {
      const connection = await connect({
        server: name,
        signal,
        known: 'legacy',
        capabilities,
        onNotification,
      });
      onTestFinished(() => connection.close());
      connections.push(connection);
      return connection;
    },
  };
}

verifies('T10', 'bounds the private connections of all principals together', async () => {
  const connections = new PrivateConnections({ clock: Date.now, max: 2 });
  const demo = owner('demo');
  for (const id of ['a', 'b']) void (await connections.open(demo, callOf(id), signal)).send(callOf(id)).catch(() => {});
  await turn();
  await expect(connections.open(demo, callOf('c'), signal)).rejects.toMatchObject({ code: 'UPSTREAM_UNREACHABLE' });
  await connections.end(demo, 'close');
  await expect(connections.open(demo, callOf('c'), signal)).resolves.toBeDefined();
});

verifies('T10', 'keeps a process of each of 28 servers for one client', async () => {
  const connections = new PrivateConnections({ clock: Date.now });
  const servers = Array.from({ length: 28 }, (_, at) => owner(`s${at}`));
  const opened = await Promise.all(servers.map((server) => connections.open(server, callOf('ada'), signal)));
  await turn();
  expect(servers.map((server) => connections.ready(server, callOf('ada')))).toEqual(opened);
});

verifies('T10', 'closes a connection that only listed before one with the state of a client', async () => {
  const time = fakeTime();
  const connections = new PrivateConnections({ ...time, maxPerPrincipal: 2 });
  const [used, listed, third] = [owner('a', { 'tools/call': () => ({ content: [] }) }), owner('b'), owner('c')];
  await (await connections.open(used, callOf('ada'), signal)).send(callOf('ada'));
  await turn();
  time.pass(1000);
  await connections.ensureOpen(listed, callOf('ada'), signal);
  await connections.open(third, callOf('ada'), signal);
  expect([used, listed, third].map((one) => connections.count(one))).toEqual([1, 0, 1]);
});

verifies('T10', 'rejects a further connection instead of closing one with a subscription', async () => {
  const connections = new PrivateConnections({ clock: Date.now, maxPerPrincipal: 2 });
  const feed = {
    onNotification() {},
    listed: Promise.resolve(),
    settle: () => undefined,
    isWanted: () => true,
    end() {},
  };
  const ownerWithFeed = (name: string): ConnectionOwner => ({ ...owner(name), follow: () => feed });
  const [first, second, third] = [ownerWithFeed('a'), ownerWithFeed('b'), ownerWithFeed('c')];
  for (const one of [first, second]) await connections.open(one, callOf('ada'), signal);
  await turn();
  await expect(connections.open(third, callOf('ada'), signal)).rejects.toMatchObject({ code: 'UPSTREAM_UNREACHABLE' });
  expect([first, second, third].map((one) => connections.count(one))).toEqual([1, 1, 0]);
});

verifies(
  'L7',
  'keeps the idle connection of commands and sessions for an hour, that of a stateless client for 5 minutes',
  async () => {
    const time = fakeTime();
    const connections = new PrivateConnections(time);
    const demo = owner('demo');
    const call = callOf('ada');
    await connections.open(demo, call, signal);
    await connections.open(demo, { ...call, caller: { id: 'local:ada', roles: ['owner'], via: 'cli' } }, signal);
    await connections.open(demo, { ...call, caller: { ...call.caller, id: 'bob', session: 'one' } }, signal);
    await turn();
    const countAfter = (ms: number) => {
      time.pass(ms);
      connections.sweep();
      return connections.count(demo);
    };
    expect([countAfter(299_999), countAfter(1), countAfter(3_299_999), countAfter(1)]).toEqual([3, 2, 2, 0]);
  },
);

it('rejects all waiting calls when an opening fails, and tries again after delayMs', async () => {
  const time = fakeTime();
  const connections = new PrivateConnections(time);
  const demo = owner('demo');
  let fails = true;
  let openings = 0;
  const flaky: ConnectionOwner = {
    ...demo,
    openConnection(user, events) {
      openings++;
      return fails ? Promise.reject(new Error('no')) : demo.openConnection(user, events);
    },
  };
  const opens = [connections.open(flaky, callOf('a'), signal), connections.open(flaky, callOf('a'), signal)];
  expect(await Promise.allSettled(opens)).toMatchObject([{ status: 'rejected' }, { status: 'rejected' }]);
  fails = false;
  time.pass(4999);
  await expect(connections.open(flaky, callOf('b'), signal)).rejects.toThrow('no');
  expect(openings).toBe(1);
  await expect(connections.open(demo, callOf('b'), signal)).resolves.toBeDefined();
  time.pass(1);
  await expect(connections.open(flaky, callOf('a'), signal)).resolves.toBeDefined();
  expect(connections.count(flaky)).toBe(1);
});

/** An owner without a child process, with per-user credentials. */
const remoteOwner = (name: string): ConnectionOwner & { connections: Connection[] } => {
  const local = owner(name);
  return { ...local, plan: { ...local.plan, local: false, credentials: 'user' } };
};

verifies(
  'A6',
  'allows more than 64 connections without a child process, one per server, caller and capability set',
  async () => {
    const connections = new PrivateConnections({ clock: Date.now });
    const servers = [remoteOwner('a'), remoteOwner('b'), remoteOwner('c')] as const;
    const callers = Array.from({ length: 30 }, (_, at) => `caller-${at}`);
    const opened = await Promise.all(
      servers.flatMap((server) => callers.map((id) => connections.open(server, callOf(id), signal))),
    );
    for (const [at, id] of callers.entries()) expect(connections.ready(servers[0], callOf(id))).toBe(opened[at]);
    const capable = callOf('caller-0', { ...NO_CAPABILITIES, form: true });
    expect(await connections.open(servers[0], capable, signal)).not.toBe(opened[0]);
    expect(servers.map((server) => connections.count(server))).toEqual([31, 30, 30]);
    for (const server of servers) await connections.end(server, 'close');
  },
);

verifies('A6', 'closes the connection that was idle longest when 1,000 are open', async () => {
  const time = fakeTime();
  const connections = new PrivateConnections({ ...time, maxWithoutProcess: 3 });
  const demo = remoteOwner('demo');
  for (const id of ['a', 'b', 'c', 'd']) {
    await connections.open(demo, callOf(id), signal);
    await turn();
    time.pass(1000);
  }
  const isOpen = (id: string) => connections.peek(demo, callOf(id)) !== undefined;
  expect(['a', 'b', 'c', 'd'].map(isOpen)).toEqual([false, true, true, true]);
});

verifies('A6', 'does not let the failure of one caller delay another', async () => {
  const connections = new PrivateConnections(fakeTime());
  const demo = remoteOwner('demo');
  const openConnection: ConnectionOwner['openConnection'] = (user, events) =>
    user.caller.id === 'a' ? Promise.reject(new Error('no')) : demo.openConnection(user, events);
  const flaky = { ...demo, openConnection };
  await expect(connections.open(flaky, callOf('a'), signal)).rejects.toThrow('no');
  await expect(connections.open(flaky, callOf('a'), signal)).rejects.toThrow('no');
  await expect(connections.open(flaky, callOf('b'), signal)).resolves.toBeDefined();
});

verifies('T5', 'rejects an opening for lists when none can be opened, and does not throw', async () => {
  const connections = new PrivateConnections({ clock: Date.now, max: 1 });
  const demo = owner('demo');
  void (await connections.open(demo, callOf('ada'), signal)).send(callOf('ada')).catch(() => {});
  await turn();
  const opening = connections.ensureOpen(demo, callOf('bob'), signal);
  await expect(opening).rejects.toMatchObject({ code: 'UPSTREAM_UNREACHABLE' });
});

verifies('T3', 'neither drains nor replaces a connection while it opens', async () => {
  const time = fakeTime();
  const connections = new PrivateConnections({ ...time, max: 2 });
  const begun = Promise.withResolvers<void>();
  const real = owner('demo');
  const slow: ConnectionOwner = {
    ...real,
    openConnection: async (...args) => begun.promise.then(() => real.openConnection(...args)),
  };
  const opening = connections.ensureOpen(slow, callOf('ada'), signal);
  await connections.open(real, callOf('bob'), signal);
  time.pass(200_000);
  await turn();
  connections.sweep();
  await connections.open(real, callOf('cy'), signal);
  expect([connections.count(slow), connections.count(real)]).toEqual([1, 1]);
  begun.resolve();
  const connection = await opening;
  expect(await connections.open(slow, callOf('ada'), signal)).toBe(connection);
});
