import { join } from 'node:path';
import { expect } from 'vitest';
import type { Caller, JsonObject } from '../../src/core/call.ts';
import type { Notification } from '../../src/core/records/notification.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { InProcessServer } from '../../src/upstream/lifecycle/programmatic-servers.ts';
import { RpcError } from '../../src/wire/json-rpc.ts';
import { Peer } from '../../src/wire/peer.ts';
import { verifies } from '../requirements.ts';
import { changingOldServer } from '../servers/changing-servers.ts';
import { temporaryFolder, temporaryHeddle, temporaryHeddleClient } from '../temporary-heddle.ts';
import { until } from '../until.ts';

interface Ide extends InProcessServer {
  readonly told: [string, JsonObject][];
  say(method: string, params: JsonObject): Promise<void>;
}

/** A server as editors bring it: both sides say things that MCP knows nothing of. */
function ideServer(): Ide {
  const told: [string, JsonObject][] = [];
  const peers: Peer[] = [];
  return {
    told,
    say: async (method, params) => void (await peers.at(-1)?.notify(method, params)),
    async connect(line) {
      const peer = new Peer(line, {
        server: 'Heddle',
        onNotification: (method, params) => void told.push([method, params]),
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

verifies('T9', 'a program and its in-process server tell each other what they like', async () => {
  const ide = ideServer();
  const heddle = await temporaryHeddleClient({ servers: { ide } });
  const heard: Notification[] = [];
  const selections: Notification[] = [];
  heddle.onNotification({ server: 'ide' }, () => {
    throw new Error('One bad handler.');
  });
  heddle.onNotification({}, (said) => void heard.push(said));
  const stop = heddle.onNotification(
    { server: 'ide', method: 'selection_changed' },
    (said) => void selections.push(said),
  );

  await heddle.servers.notify('ide', { method: 'ide_connected', params: { pid: 7 } });
  const unwanted = heddle.servers.notify(
    'ide',
    { method: 'ide_connected', params: { pid: 8 } },
    { signal: AbortSignal.abort() },
  );
  await expect(unwanted).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
  await until('the server was told', () => ide.told.some(([method]) => method === 'ide_connected'));
  expect(ide.told.at(-1)).toEqual(['ide_connected', { pid: 7 }]);

  const selection = { text: 'one', selection: { start: { line: 1 } } };
  await ide.say('selection_changed', selection);
  await ide.say('notifications/message', { level: 'info', data: 'hello' });
  await until('both were heard', () => heard.length === 2);
  expect(heard).toEqual([
    { server: 'ide', method: 'selection_changed', params: selection },
    { server: 'ide', method: 'notifications/message', params: { level: 'info', data: 'hello' } },
  ]);
  expect(selections).toHaveLength(1);
  stop();
  await ide.say('selection_changed', selection);
  await until('the third was heard', () => heard.length === 3);
  expect(selections).toHaveLength(1);
});

verifies('T9', 'every handler hears that a resource or a list of an SDK server has changed', async () => {
  const { serve, server } = changingOldServer();
  const heddle = await temporaryHeddleClient({ servers: { notes: { connect: serve } } });
  const heard: [string[], string[]] = [[], []];
  for (const methods of heard) heddle.onNotification({}, ({ method }) => void methods.push(method));
  await heddle.servers.connect('notes');
  await server.server.sendResourceUpdated({ uri: 'note://one' });
  server.sendToolListChanged();
  await until('all is heard', () => heard[0].length === 2);
  expect(heard[0]).toEqual(['notifications/resources/updated', 'notifications/tools/list_changed']);
  expect(heard[1]).toEqual(heard[0]);
});

verifies(
  'T9',
  'nothing that steers calls can be sent as a notification, and what is sent is written down',
  async () => {
    const ide = ideServer();
    const folder = await temporaryFolder();
    const heddle = await temporaryHeddleClient({ folder, servers: { ide } });
    await heddle.servers.connect('ide');
    const known = ide.told.length;
    for (const method of ['tools/call', 'notifications/cancelled', 'notifications/initialized', '']) {
      await expect(heddle.servers.notify('ide', { method })).rejects.toMatchObject({ code: 'INPUT_INVALID' });
    }
    await expect(heddle.servers.notify('nobody', { method: 'hello' })).rejects.toMatchObject({ code: 'NAME_UNKNOWN' });
    await heddle.servers.notify('ide', { method: 'hello' });
    await until('the server was told', () => ide.told.length > known);
    expect(ide.told.slice(known)).toEqual([['hello', {}]]);
    await heddle.close();
    const store = await openStore({ location: join(folder, 'home', 'heddle.sqlite') });
    const records = await store.audit.search({ limit: 10 });
    await store.close();
    expect(records.filter(({ name }) => name === 'servers.notify').map(({ detail }) => detail)).toEqual([
      { server: 'ide', method: 'hello' },
      { server: 'nobody', method: 'hello' },
    ]);
  },
);

verifies('G2', 'only an operator may notify servers and hear what they say, and no one a denied server', async () => {
  const ide = ideServer();
  const heddle = await temporaryHeddle({ config: { permissions: { deny: ['mcp__ide'] } }, servers: { ide } });
  const denied = { code: 'PERMISSION_DENIED' };
  const said = { method: 'hello', params: {} };
  const user: Caller = { id: 'ada', roles: ['user'], via: 'gateway' };
  await expect(heddle.servers.notify(user, 'ide', said)).rejects.toMatchObject(denied);
  expect(() => heddle.onNotification(user, {}, () => {})).toThrow(expect.objectContaining(denied));
  await expect(heddle.servers.notify({ ...user, roles: ['owner'] }, 'ide', said)).rejects.toMatchObject(denied);
  expect(ide.told).toEqual([]);
});
