import { expect, onTestFinished } from 'vitest';
import { verifies } from '../../../../test/requirements.ts';
import { until } from '../../../../test/until.ts';
import { capabilitiesKey, NO_CAPABILITIES } from '../../../core/call/client-capabilities.ts';
import type { Connect } from '../../connection.ts';
import { suspendedCalls } from '../../elicitation/suspended-calls.ts';
import { fakeTime, HELLO, memoryBook, planOf, tinyServer, toolCall } from '../../fixtures.ts';
import { openServers, type ServersOptions } from '../../servers.ts';
import { connectInMemory } from '../../transports/connect-in-memory.ts';
import { openServerCache } from '../server-cache.ts';

const READABLE = { ...HELLO, capabilities: { tools: {}, resources: { subscribe: true, listChanged: true } } };

const LISTS = {
  'resources/list': () => ({ resources: [] }),
  'resources/templates/list': () => ({ resourceTemplates: [] }),
};
const signal = new AbortController().signal;
const FORM = { ...NO_CAPABILITIES, form: true };
const ADA = toolCall('do', {}, { caller: { id: 'ada', roles: ['user'], via: 'gateway' }, capabilities: FORM });

type Events = Pick<ServersOptions, 'cache' | 'onCapabilityTools' | 'onNotification' | 'onPrivateList' | 'onPrivateEnd'>;

/** A legacy server with resources, behind `openServers`. */
function world(answers: Parameters<typeof tinyServer>[0], events: Partial<Events>) {
  const tiny = tinyServer({ initialize: () => READABLE, ...LISTS, ...answers });
  const time = fakeTime();
  const reach = connectInMemory(tiny.serve);
  const shared = { isRefused: false };
  const connect: Connect = (options) =>
    shared.isRefused && capabilitiesKey(options.capabilities) === 0
      ? Promise.reject(new Error('refused'))
      : reach(options);
  const servers = openServers({
    plans: [planOf({ connect })],
    suspendedCalls: suspendedCalls(),
    cache: openServerCache({ saved: [], book: memoryBook() }),
    localConcurrency: 3,
    remoteConcurrency: 20,
    ...time,
    onStatus: () => {},
    onList: () => {},
    onNotification: () => {},
    ...events,
  });
  onTestFinished(() => servers.close());
  return { servers, tiny, time, shared, privateCount: () => servers.status()[0]?.privateConnections ?? 0 };
}

/** A server that takes subscriptions. */
function readableWorld() {
  const subscribed: unknown[] = [];
  const updates: unknown[] = [];
  const given = world(
    {
      'resources/subscribe': ({ uri }) => {
        subscribed.push(uri);
        return {};
      },
    },
    { onNotification: (_server, method, params, user) => updates.push([method, params, user?.principal]) },
  );
  return { ...given, subscribed, updates };
}

verifies('R6', 'keeps a private connection with a subscription open, and reopens it when it is lost', async () => {
  const { servers, time, tiny, privateCount, subscribed, updates } = readableWorld();
  await servers.subscribe('demo', { uri: 'a:b', user: ADA }, signal);
  expect(subscribed).toEqual(['a:b']);
  time.pass(400_000);
  expect(privateCount()).toBe(1);

  await tiny.transports[1]?.close();
  await until('it is subscribed again', () => subscribed.length === 2);
  await until('its user is notified of what may have been missed', () => updates.length > 0);
  expect(updates).toEqual([['notifications/resources/updated', { uri: 'a:b' }, 'ada']]);

  await servers.unsubscribe('demo', { uri: 'a:b', user: ADA }, signal);
  time.pass(400_000);
  await until('it is closed', () => privateCount() === 0);
});

verifies('R7', 'publishes the lists of a private connection to its user alone, until it ends', async () => {
  const events: unknown[] = [];
  const { servers, time } = world(
    {},
    {
      onPrivateList: (_server, { principal }, { kind }) => events.push([principal, kind]),
      onPrivateEnd: (_server, { principal }) => events.push([principal, 'end']),
    },
  );
  await servers.connectionFor('demo', ADA, signal);
  await until('they are listed', () => events.length === 4);
  expect(events).toContainEqual(['ada', 'resources']);
  time.pass(400_000);
  await until('they are gone', () => events.length === 5);
  expect(events.at(-1)).toEqual(['ada', 'end']);
});

verifies('R6', 'does not reopen at once a private connection that was lost soon after it opened', async () => {
  const attempts: number[] = [];
  const { servers, tiny, time, privateCount } = world(
    {
      'resources/subscribe': async () => {
        if (attempts.push(tiny.transports.length) > 1 && attempts.length < 6) await tiny.transports.at(-1)?.close();
        return {};
      },
    },
    {},
  );
  await servers.subscribe('demo', { uri: 'a:b', user: ADA }, signal);
  time.pass(6000);
  await tiny.transports[1]?.close();
  await until('the second one is lost', () => attempts.length > 1 && (privateCount() === 0 || attempts.length > 3));
  expect(attempts).toEqual([2, 3]);
  time.pass(30_000);
  await until('it is tried again', () => attempts.length === 3);
});

verifies('R6', 'follows a private connection that opens while the shared one is down', async () => {
  const { servers, tiny, time, shared, subscribed, privateCount } = readableWorld();
  await servers.subscribe('demo', { uri: 'a:b', user: ADA }, signal);
  shared.isRefused = true;
  await tiny.transports[0]?.close();
  await until('the shared connection is lost', () => servers.connected('demo') === undefined);
  time.pass(6000);
  const lists = () => tiny.requests.filter((method) => method === 'tools/list').length;
  const listsBefore = lists();
  await tiny.transports[1]?.close();
  await until('a new private connection is open', () => tiny.transports.length === 3 && privateCount() === 1);
  await until('it is subscribed and listed', () => subscribed.length === 2 && lists() > listsBefore);
});

verifies('R7', 'neither publishes nor stores tools that were listed after a call on a private connection', async () => {
  const called = Promise.withResolvers<void>();
  const published: unknown[] = [];
  const own: unknown[] = [];
  const book = memoryBook();
  const tool = (name: string) => ({ name, inputSchema: { type: 'object' } });
  const lists = [
    () => [],
    () => called.promise.then(() => [tool('common'), tool('session')]), // The connection of ada, during its call.
    () => [tool('common')],
  ];
  const { servers, tiny } = world(
    {
      'tools/list': async () => ({ tools: (await lists.shift()?.()) ?? [] }),
      'tools/call': () => {
        called.resolve();
        return { content: [] };
      },
    },
    {
      cache: openServerCache({ saved: [], book }),
      onCapabilityTools: (_server, _abilities, tools) => published.push(tools),
      onPrivateList: (_server, { principal }, { kind, items }) =>
        kind === 'tools' && own.push([principal, items.length]),
    },
  );
  await (await servers.connectionFor('demo', ADA, signal)).send(ADA);
  await until('ada has the list', () => own.length === 1);
  expect([own, published]).toEqual([[['ada', 2]], []]);

  await servers.discoverTools('demo', { capabilities: FORM, caller: { ...ADA.caller, id: 'bob' } }, signal);
  expect(published).toEqual([[tool('common')]]);
  expect(JSON.stringify(book.saved)).not.toContain('session');
  await servers.discoverTools('demo', { capabilities: FORM, caller: ADA.caller }, signal);
  expect(tiny.transports).toHaveLength(3);
});
