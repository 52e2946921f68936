import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { describe, expect, onTestFinished } from 'vitest';
import {
  type GatewayUnderTest,
  gatewayUnderTest,
  JSON_HEADERS,
  modern,
  OWNER,
  openSession,
  TOKEN,
} from '../../src/gateway/fixtures.ts';
import { expectGrowth, residentMegabytes } from '../limits.ts';
import { verifies } from '../requirements.ts';
import { type Behaviour, recordingServer, text } from '../servers/recording-server.ts';
import { SDK_CLIENTS } from '../servers/sdk-clients.ts';
import { until } from '../until.ts';

const CLIENTS = process.env.HEDDLE_TEST_SCALE === 'full' ? 1000 : 200;

/** Responds in another order than that of the requests. */
const scramble: Behaviour = async ({ who, turns }) => {
  for (let turn = 0; turn < Number(turns); turn++) await new Promise((resolve) => setImmediate(resolve));
  return text(`for ${who}`);
};

async function callAll(gateway: GatewayUnderTest, send: (params: object, at: number) => Promise<unknown>) {
  const clients = Array.from({ length: CLIENTS }, (_, at) => at);
  const responses = await Promise.all(
    clients.map((at) => send({ name: 'mcp__up__scramble', arguments: { who: at, turns: (at * 7) % 23 } }, at)),
  );
  expect(gateway.port).toBeGreaterThan(0);
  expect(responses).toEqual(
    clients.map((at) => ({ jsonrpc: '2.0', id: 1, result: expect.objectContaining(text(`for ${at}`)) })),
  );
}

describe('clients that all use the id 1 at once', () => {
  verifies('F5', 'each get their own response, with a session each', async () => {
    const gateway = await gatewayUnderTest({ servers: { up: recordingServer({ scramble }) } });
    await callAll(gateway, async (params) => {
      const session = await openSession(gateway);
      return (await gateway.post({ id: 1, method: 'tools/call', params: params as never }, session)).json;
    });
  });

  verifies('F5', 'each get their own response, without a session', async () => {
    const gateway = await gatewayUnderTest({ servers: { up: recordingServer({ scramble }) } });
    await callAll(gateway, async (params) => (await gateway.post(...modern('tools/call', params as never))).json);
  });

  verifies('F5', 'get only their own progress', async () => {
    const report: Behaviour = async ({ who }, { progress }) => {
      progress({ progress: Number(who) });
      return scramble({ who: who ?? 0, turns: 3 }, {} as never);
    };
    const gateway = await gatewayUnderTest({ servers: { up: recordingServer({ report }) } });
    const one = async (who: number) => {
      const params = { name: 'mcp__up__report', arguments: { who }, _meta: { progressToken: 1 } };
      const response = await gateway.post({ id: 1, method: 'tools/call', params });
      const events = response.text.split('\n').filter((line) => line.startsWith('data: '));
      return events.map((line) => JSON.parse(line.slice('data: '.length)));
    };
    const responses = await Promise.all(Array.from({ length: CLIENTS }, (_, who) => one(who)));
    const progress = (who: number) => ({ progress: who, progressToken: 1 });
    expect(responses).toEqual(
      responses.map((_, who) => [
        { jsonrpc: '2.0', method: 'notifications/progress', params: progress(who) },
        { jsonrpc: '2.0', id: 1, result: text(`for ${who}`) },
      ]),
    );
  });
});

function rawCall(port: number, message: object, headers: Readonly<Record<string, string>>): Socket {
  const socket = connect(port, '127.0.0.1');
  const body = JSON.stringify({ jsonrpc: '2.0', ...message });
  const lines = Object.entries({ host: 'localhost', ...JSON_HEADERS, ...headers, 'content-length': `${body.length}` });
  socket.on('error', () => {});
  socket.write(`POST /mcp HTTP/1.1\r\n${lines.map(([key, value]) => `${key}: ${value}\r\n`).join('')}\r\n${body}`);
  return socket;
}

describe('a client that disconnects', () => {
  const forever = { forever: () => new Promise<never>(() => {}) };

  verifies('F6', 'during a call cancels it at the server', async () => {
    for (const [message, headers] of [
      modern('tools/call', { name: 'mcp__up__forever' }),
      [{ id: 1, method: 'tools/call', params: { name: 'mcp__up__forever' } }, {}] as const,
    ]) {
      const server = recordingServer(forever);
      const { port } = await gatewayUnderTest({ servers: { up: server } });
      const socket = rawCall(port, message, headers);
      await until('the call has arrived', () => server.calls.length === 1);
      socket.destroy();
      await until('the server call is cancelled', () => server.cancelled.length === 1);
    }
  });

  verifies('F6', 'does not cancel the call of another client', async () => {
    const gate = Promise.withResolvers<ReturnType<typeof text>>();
    const server = recordingServer({ ...forever, wait: () => gate.promise });
    const { port, post } = await gatewayUnderTest({ servers: { up: server } });
    const socket = rawCall(port, ...modern('tools/call', { name: 'mcp__up__forever' }));
    const other = post(...modern('tools/call', { name: 'mcp__up__wait' }));
    await until('both have arrived', () => server.calls.length === 2);
    socket.destroy();
    await until('the one is cancelled', () => server.cancelled.length === 1);
    gate.resolve(text('still here'));
    expect((await other).json.result).toMatchObject(text('still here'));
    expect(server.cancelled).toEqual(['forever']);
  });

  verifies('F6', 'because it does not read has a bounded buffer, and its call is cancelled', async () => {
    const before = residentMegabytes();
    const done = Promise.withResolvers<void>();
    const flood: Behaviour = async (_, { progress }) => {
      const message = 'x'.repeat(100_000);
      for (let at = 0; at < 2000; at++) {
        progress({ progress: at, message });
        await new Promise((resolve) => setImmediate(resolve));
      }
      done.resolve();
      return text('flooded');
    };
    const server = recordingServer({ flood });
    const { port, post } = await gatewayUnderTest({ servers: { up: server } });
    const params = { name: 'mcp__up__flood', _meta: { progressToken: 1 } };
    const socket = rawCall(port, { id: 1, method: 'tools/call', params }, {}).pause();
    await until('it is cancelled', () => server.cancelled.length === 1);
    await done.promise;
    expectGrowth(residentMegabytes() - before, 100);
    expect((await post({ id: 1, method: 'ping' })).status).toBe(200);
    const ended = once(socket, 'close');
    socket.resume();
    await ended;
  });
});

describe.each(SDK_CLIENTS)('%s', (_name, connect) => {
  verifies('P1', 'is notified when the tools of a server change, and lists the new ones', async () => {
    const server = recordingServer({ before: () => text('') });
    const config = { builtins: { filesystem: { enabled: false } } };
    const { url, heddle } = await gatewayUnderTest({ servers: { up: server }, config });
    await heddle.servers.connect(OWNER, 'up', new AbortController().signal);
    const client = await connect({ url, token: TOKEN });
    onTestFinished(() => client.close());
    let notified = 0;
    await client.onToolsChanged(() => notified++);
    expect((await client.list()).map(({ name }) => name)).toContain('mcp__up__before');
    let changes = 0;
    // A legacy client opens its stream some time after the handshake, so one change may be missed.
    await until('the client is notified', () => {
      server.change({ [`after-${++changes}`]: () => text('') });
      return notified > 0;
    });
    const names = (await client.list()).map(({ name }) => name);
    expect(names.filter((name) => String(name).startsWith('mcp__up__'))).toEqual([
      expect.stringMatching(/^mcp__up__after/),
    ]);
  });
});

describe('a subscription', () => {
  verifies(
    'P1',
    'is acknowledged first, carries its id in each notification, and sends only the requested kinds',
    async () => {
      const server = recordingServer({ before: () => text('') });
      const gateway = await gatewayUnderTest({ servers: { up: server } });
      await gateway.post(...modern('tools/list'));
      const [message, headers] = modern('subscriptions/listen', {
        notifications: { toolsListChanged: true, other: true },
      });
      const socket = rawCall(gateway.port, { ...message, id: 'sub-1' }, headers);
      let received = '';
      socket.on('data', (chunk) => (received += chunk));
      const events = () =>
        received.split('\n').flatMap((line) => (line.startsWith('data: ') ? [JSON.parse(line.slice(6))] : []));
      await until('it is acknowledged', () => events().length === 1);
      server.change({ after: () => text('') });
      await until('it is notified', () => events().length === 2);
      const _meta = { 'io.modelcontextprotocol/subscriptionId': 'sub-1' };
      const notifications = { toolsListChanged: true };
      expect(events()).toEqual([
        { jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged', params: { notifications, _meta } },
        { jsonrpc: '2.0', method: 'notifications/tools/list_changed', params: { _meta } },
      ]);
      socket.destroy();
      const nothing = await gateway.post(...modern('subscriptions/listen', {}));
      expect(nothing.json).toMatchObject({ id: 1, result: { resultType: 'complete' } });
    },
  );
});
