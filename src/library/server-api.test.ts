import { expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { recordingServer, text } from '../../test/servers/recording-server.ts';
import { temporaryHeddleClient } from '../../test/temporary-heddle.ts';
import { until } from '../../test/until.ts';
import type { JsonObject } from '../core/call.ts';
import { HELLO, tinyServer } from '../upstream/fixtures.ts';

verifies('X1', 'gets one server by name', async () => {
  const heddle = await temporaryHeddleClient({ servers: { notes: recordingServer({}) } });
  expect(await heddle.servers.get('notes')).toMatchObject({ name: 'notes', state: 'pending' });
  await expect(heddle.servers.get('note')).rejects.toMatchObject({
    code: 'NAME_UNKNOWN',
    fix: expect.stringContaining('notes'),
  });
});

verifies('X1', 'disconnects a server after its calls in flight, and the next call connects it', async () => {
  const begun = Promise.withResolvers<void>();
  const finish = Promise.withResolvers<void>();
  const notes = recordingServer({
    async slow() {
      begun.resolve();
      await finish.promise;
      return text('done');
    },
    quick: () => text('quick'),
  });
  const heddle = await temporaryHeddleClient({ servers: { notes } });
  const slow = heddle.call('notes.slow');
  await begun.promise;
  let isOver = false;
  const disconnected = heddle.servers.disconnect('notes').then((status) => {
    isOver = true;
    return status;
  });
  await expect.poll(async () => (await heddle.servers.get('notes')).state).toBe('pending');
  expect(await heddle.call('notes.quick')).toMatchObject({ isError: false }); // On a connection of its own.
  expect(isOver).toBe(false);
  finish.resolve();
  expect(await slow).toMatchObject({ isError: false });
  expect(await disconnected).toMatchObject({ name: 'notes' });
  expect(await heddle.servers.disconnect('notes')).toMatchObject({ state: 'pending' });
  expect(await heddle.servers.disconnect('notes')).toMatchObject({ state: 'pending' });
  expect((await heddle.tools({ server: 'notes' })).length).toBe(2);
  await heddle.call('notes.quick');
  expect(await heddle.servers.get('notes')).toMatchObject({ state: 'connected' });
  await expect(heddle.servers.disconnect('other')).rejects.toMatchObject({ code: 'NAME_UNKNOWN' });
});

verifies('T10', 'tells connected servers that the roots of the program have changed', async () => {
  let declared: unknown;
  const tiny = tinyServer({
    initialize({ capabilities }: JsonObject) {
      declared = capabilities;
      return HELLO;
    },
    'tools/list': () => ({ tools: [{ name: 'do', inputSchema: { type: 'object' } }] }),
    'tools/call': () => text('done'),
  });
  const heddle = await temporaryHeddleClient({ servers: { notes: { connect: tiny.serve } }, onRoots: () => ['/work'] });
  const told = () => tiny.notifications.filter(([method]) => method === 'notifications/roots/list_changed').length;
  heddle.servers.rootsChanged();
  expect(tiny.transports).toHaveLength(0);
  await heddle.call('notes.do');
  expect([declared, told()]).toEqual([{ roots: { listChanged: true } }, 0]);
  heddle.servers.rootsChanged();
  await until('the server is told', () => told() === 1);
});
