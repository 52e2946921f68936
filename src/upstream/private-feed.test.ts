import { expect, onTestFinished } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { until } from '../../test/until.ts';
import { NO_ABILITIES } from '../core/abilities.ts';
import { connectInMemory } from './connect-in-memory.ts';
import { fakeTime, HELLO, memoryBook, planOf, tinyServer, toolCall } from './fixtures.ts';
import { openServers, type ServersOptions } from './servers.ts';

const READABLE = { ...HELLO, capabilities: { tools: {}, resources: { subscribe: true, listChanged: true } } };

const LISTS = {
  'resources/list': () => ({ resources: [] }),
  'resources/templates/list': () => ({ resourceTemplates: [] }),
};
const signal = new AbortController().signal;
const FORM = { ...NO_ABILITIES, form: true };
const ADA = toolCall('do', {}, { caller: { id: 'ada', roles: ['user'], via: 'gateway' }, can: FORM });

type Events = Pick<ServersOptions, 'onNotification' | 'onPrivateList' | 'onPrivateEnd'>;

/** One legacy server that has resources, behind `openServers`. */
function world(answers: Parameters<typeof tinyServer>[0], events: Partial<Events>) {
  const tiny = tinyServer({ initialize: () => READABLE, ...LISTS, ...answers });
  const time = fakeTime();
  const servers = openServers({
    plans: [planOf({ connect: connectInMemory(tiny.serve) })],
    memories: [],
    book: memoryBook(),
    localConcurrency: 3,
    remoteConcurrency: 20,
    ...time,
    onStatus: () => {},
    onList: () => {},
    onNotification: () => {},
    ...events,
  });
  onTestFinished(() => servers.close());
  return { servers, tiny, time, privateLines: () => servers.status()[0]?.privateLines ?? 0 };
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

verifies(
  'R6',
  'a subscription keeps the private connection of its user open, and it is opened again when lost',
  async () => {
    const { servers, time, tiny, privateLines, subscribed, updates } = readableWorld();
    await servers.subscribe('demo', { uri: 'a:b', user: ADA }, signal);
    expect(subscribed).toEqual(['a:b']);
    time.pass(400_000);
    expect(privateLines()).toBe(1);

    await tiny.lines[1]?.close();
    await until('it is subscribed again', () => subscribed.length === 2);
    await until('its user is told what may have been missed', () => updates.length > 0);
    expect(updates).toEqual([['notifications/resources/updated', { uri: 'a:b' }, 'ada']]);

    await servers.unsubscribe('demo', { uri: 'a:b', user: ADA }, signal);
    time.pass(400_000);
    await until('it is closed', () => privateLines() === 0);
  },
);

verifies('R7', 'the lists of a private connection are for its user alone, and end with it', async () => {
  const events: unknown[] = [];
  const { servers, time } = world(
    {},
    {
      onPrivateList: (_server, { principal }, { kind }) => events.push([principal, kind]),
      onPrivateEnd: (_server, { principal }) => events.push([principal, 'end']),
    },
  );
  await servers.lineFor('demo', ADA, signal);
  await until('they are listed', () => events.length === 4);
  expect(events).toContainEqual(['ada', 'resources']);
  time.pass(400_000);
  await until('they are gone', () => events.length === 5);
  expect(events.at(-1)).toEqual(['ada', 'end']);
});
