import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { NO_CAPABILITIES } from '../../core/call/client-capabilities.ts';
import type { JsonObject } from '../../core/call.ts';
import { aCall } from '../../core/fixtures.ts';
import { LOG_LEVELS } from '../../core/records/log-levels.ts';
import { LOG_MESSAGE } from '../call-request.ts';
import { HELLO, type TinyServer, tinyServer, toolCall } from '../fixtures.ts';
import { connectInMemory } from '../transports/connect-in-memory.ts';
import { connectionLog } from './connection-log.ts';

verifies('P1', 'drops log messages without a call on a connection of several principals', () => {
  const received: string[] = [];
  const callOf = (id: string) =>
    aCall({
      caller: { id, roles: [], via: 'gateway' },
      log: { level: 'debug', onMessage: ({ data }) => received.push(`${id} ${data}`) },
    });
  const log = connectionLog();
  log.onNotification(LOG_MESSAGE, { data: 'before' });
  log.beforeCall(callOf('ada'));
  log.onNotification(LOG_MESSAGE, { data: 'hers' });
  log.onNotification('notifications/other', { data: 'no log' });
  log.beforeCall(callOf('eve'));
  log.onNotification(LOG_MESSAGE, { data: 'whose?' });
  log.beforeCall(callOf('ada'));
  log.onNotification(LOG_MESSAGE, { data: 'whose?' });
  expect(received).toEqual(['ada hers']);
});

const LOGS = { ...HELLO, capabilities: { tools: {}, logging: {} } };

const louder = (level?: string) => (level === undefined ? [] : LOG_LEVELS.slice(LOG_LEVELS.indexOf(level)));

/** A server that logs nothing below the level it got, and nothing at all before that. */
function quiet(hello: JsonObject = LOGS) {
  const levels: string[] = [];
  const tiny = tinyServer({
    initialize: () => hello,
    'logging/setLevel'({ level }) {
      levels.push(String(level));
      return {};
    },
    async 'tools/call'() {
      for (const level of louder(levels.at(-1)) as string[])
        await tiny.transports[0]?.notify(LOG_MESSAGE, { level, data: `a ${level}` });
      return { content: [] };
    },
  });
  return { tiny, levels };
}

const connected = ({ serve }: TinyServer) => {
  const { signal } = new AbortController();
  return connectInMemory(serve)({
    server: 'demo',
    signal,
    known: 'legacy',
    capabilities: NO_CAPABILITIES,
    onNotification: () => {},
  });
};

verifies('P1', 'sends logging/setLevel to a legacy server before the call', async () => {
  const { tiny, levels } = quiet();
  const connection = await connected(tiny);
  const heardAt = async (level: string) => {
    const received: unknown[] = [];
    await connection.send(toolCall('x', {}, { log: { level, onMessage: ({ data }) => received.push(data) } }));
    return received;
  };
  await connection.send(toolCall('x'));
  expect(levels).toEqual([]);
  expect(await heardAt('alert')).toEqual(['a alert', 'a emergency']);
  // The level only gets lower: each call filters by its own level.
  await heardAt('emergency');
  expect(await heardAt('critical')).toEqual(['a critical', 'a alert', 'a emergency']);
  expect(levels).toEqual(['alert', 'critical']);
});

verifies('P1', 'sends the call also when logging/setLevel fails', async () => {
  const log = { level: 'debug', onMessage: () => {} };
  const deaf = quiet(HELLO);
  await (await connected(deaf.tiny)).send(toolCall('x', {}, { log }));
  expect(deaf.levels).toEqual([]);
  const stubborn = tinyServer({ initialize: () => LOGS, 'tools/call': () => ({ content: [] }) });
  const connection = await connected(stubborn);
  expect(await connection.send(toolCall('x', {}, { log }))).toMatchObject({ kind: 'complete' });
  expect(stubborn.requests.slice(-2)).toEqual(['logging/setLevel', 'tools/call']);
});

verifies('P1', 'sends the call that waits for its level on a draining connection', async () => {
  const { promise: gate, resolve: open } = Promise.withResolvers<JsonObject>();
  const tiny = tinyServer({
    initialize: () => LOGS,
    'logging/setLevel': () => gate,
    'tools/call': () => ({ content: [] }),
  });
  const connection = await connected(tiny);
  const answer = connection.send(toolCall('x', {}, { log: { level: 'debug', onMessage: () => {} } }));
  expect(connection.inFlight()).toBe(1);
  const finished = connection.drain();
  open({});
  expect(await answer).toMatchObject({ kind: 'complete' });
  await finished;
});
