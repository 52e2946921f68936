import { join } from 'node:path';
import { expect } from 'vitest';
import type { Caller, JsonObject } from '../../src/core/call.ts';
import type { Notification } from '../../src/core/records/notification.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { InProcessServer } from '../../src/upstream/lifecycle/programmatic-servers.ts';
import { RpcError } from '../../src/wire/json-rpc.ts';
import { Peer } from '../../src/wire/peer.ts';
import { verifies } from '../requirements.ts';
import { changingLegacyServer } from '../servers/changing-servers.ts';
import { temporaryFolder, temporaryHeddle, temporaryHeddleClient } from '../temporary-heddle.ts';
import { until } from '../until.ts';

interface Ide extends InProcessServer {
  readonly received: [string, JsonObject][];
  send(method: string, params: JsonObject): Promise<void>;
}

/** A server like that of an editor: both sides send notifications that MCP does not define. */
function ideServer(): Ide {
  const received: [string, JsonObject][] = [];
  const peers: Peer[] = [];
  return {
    received,
    send: async (method, params) => void (await peers.at(-1)?.notify(method, params)),
    async connect(transport) {
      const peer = new Peer(transport, {
        server: 'Heddle',
        onNotification: (method, params) => void received.push([method, params]),
        async answer(method, { protocolVersion }) {
          if (method !== 'initialize') throw new RpcError(-32601, `${method} is not here.`);
          return { protocolVersion, capabilities: {}, serverInfo: { name: 'ide', version: '1' } };
        },
      });
      peers.push(peer);
      await peer.start();
    },
  };
}

verifies('T9', 'a program and its in-process server exchange any notifications', async () => {
  const ide = ideServer();
  const heddle = await temporaryHeddleClient({ servers: { ide } });
  const notifications: Notification[] = [];
  const selections: Notification[] = [];
  heddle.onNotification({ server: 'ide' }, () => {
    throw new Error('One bad handler.');
  });
  heddle.onNotification({}, (notification) => void notifications.push(notification));
  const unsubscribe = heddle.onNotification(
    { server: 'ide', method: 'selection_changed' },
    (notification) => void selections.push(notification),
  );

  await heddle.servers.notify('ide', { method: 'ide_connected', params: { pid: 7 } });
  const unwanted = heddle.servers.notify(
    'ide',
    { method: 'ide_connected', params: { pid: 8 } },
    { signal: AbortSignal.abort() },
  );
  await expect(unwanted).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
  await until('the server has the notification', () => ide.received.some(([method]) => method === 'ide_connected'));
  expect(ide.received.at(-1)).toEqual(['ide_connected', { pid: 7 }]);

  const selection = { text: 'one', selection: { start: { line: 1 } } };
  await ide.send('selection_changed', selection);
  await ide.send('notifications/message', { level: 'info', data: 'hello' });
  await until('both notifications have come', () => notifications.length === 2);
  expect(notifications).toEqual([
    { server: 'ide', method: 'selection_changed', params: selection },
    { server: 'ide', method: 'notifications/message', params: { level: 'info', data: 'hello' } },
  ]);
  expect(selections).toHaveLength(1);
  unsubscribe();
  await ide.send('selection_changed', selection);
  await until('the third notification has come', () => notifications.length === 3);
  expect(selections).toHaveLength(1);
});

verifies('T9', 'every handler gets the resource and list changes of an SDK server', async () => {
  const { serve, server } = changingLegacyServer();
  const heddle = await temporaryHeddleClient({ servers: { notes: { connect: serve } } });
  const notifications: [string[], string[]] = [[], []];
  for (const methods of notifications) heddle.onNotification({}, ({ method }) => void methods.push(method));
  await heddle.servers.connect('notes');
  await server.server.sendResourceUpdated({ uri: 'note://one' });
  server.sendToolListChanged();
  await until('all notifications have come', () => notifications[0].length === 2);
  expect(notifications[0]).toEqual(['notifications/resources/updated', 'notifications/tools/list_changed']);
  expect(notifications[1]).toEqual(notifications[0]);
});

verifies('T9', 'refuses notifications that control calls, and audits those that are sent', async () => {
  const ide = ideServer();
  const folder = await temporaryFolder();
  const heddle = await temporaryHeddleClient({ folder, servers: { ide } });
  await heddle.servers.connect('ide');
  const known = ide.received.length;
  for (const method of ['tools/call', 'notifications/cancelled', 'notifications/initialized', '']) {
    await expect(heddle.servers.notify('ide', { method })).rejects.toMatchObject({ code: 'INPUT_INVALID' });
  }
  await expect(heddle.servers.notify('unknown', { method: 'hello' })).rejects.toMatchObject({ code: 'NAME_UNKNOWN' });
  await heddle.servers.notify('ide', { method: 'hello' });
  await until('the server has the notification', () => ide.received.length > known);
  expect(ide.received.slice(known)).toEqual([['hello', {}]]);
  await heddle.close();
  const store = await openStore({ location: join(folder, 'home', 'heddle.sqlite') });
  const records = await store.audit.search({ limit: 10 });
  await store.close();
  expect(records.filter(({ name }) => name === 'servers.notify').map(({ detail }) => detail)).toEqual([
    { server: 'ide', method: 'hello' },
    { server: 'unknown', method: 'hello' },
  ]);
});

verifies(
  'G2',
  'only an operator may send and receive notifications of servers, and none for a denied server',
  async () => {
    const ide = ideServer();
    const heddle = await temporaryHeddle({ config: { permissions: { deny: ['mcp__ide'] } }, servers: { ide } });
    const denied = { code: 'PERMISSION_DENIED' };
    const notification = { method: 'hello', params: {} };
    const user: Caller = { id: 'ada', roles: ['user'], via: 'gateway' };
    await expect(heddle.servers.notify(user, 'ide', notification)).rejects.toMatchObject(denied);
    expect(() => heddle.onNotification(user, {}, () => {})).toThrow(expect.objectContaining(denied));
    await expect(heddle.servers.notify({ ...user, roles: ['owner'] }, 'ide', notification)).rejects.toMatchObject(
      denied,
    );
    expect(ide.received).toEqual([]);
  },
);
