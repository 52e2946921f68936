import { once } from 'node:events';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type ClientOptions, WebSocket } from 'ws';
import { verifies } from '../../../test/requirements.ts';
import { type Behaviour, recordingServer, text } from '../../../test/servers/recording-server.ts';
import { listenWs } from '../../../test/servers/ws-servers.ts';
import { until } from '../../../test/until.ts';
import type { JsonObject } from '../../core/call.ts';
import { gatewayUnderTest, modern, TOKEN } from '../fixtures.ts';
import { WsServerTransport } from './ws-transport.ts';

const CLIENTS = process.env.HEDDLE_TEST_SCALE === 'full' ? 1000 : 100;
const AUTHORIZED = { headers: { authorization: `Bearer ${TOKEN}` } };

function open({ port }: { readonly port: number }, options: ClientOptions = AUTHORIZED, path = '/mcp') {
  const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, ['mcp'], options);
  onTestFinished(() => socket.terminate());
  return socket;
}

async function connect(gateway: { readonly port: number }, options?: ClientOptions) {
  const socket = open(gateway, options);
  const received: JsonObject[] = [];
  const waiting = new Map<unknown, (response: JsonObject) => void>();
  socket.on('message', (bytes) => {
    const message: JsonObject = JSON.parse(String(bytes));
    received.push(message);
    waiting.get(message.id)?.(message);
  });
  await once(socket, 'open');
  const send = (message: JsonObject) => socket.send(JSON.stringify({ jsonrpc: '2.0', ...message }));
  function request(message: JsonObject): Promise<JsonObject> {
    const { promise, resolve } = Promise.withResolvers<JsonObject>();
    waiting.set(message.id, resolve);
    send(message);
    return promise;
  }
  return { socket, received, send, request };
}

/** The status with which an upgrade is refused. */
async function refusal(socket: WebSocket): Promise<number | undefined> {
  socket.on('error', () => {});
  const [, response] = await once(socket, 'unexpected-response');
  return response.statusCode;
}

const callOf = (id: number, name: string, input: JsonObject = {}) => ({
  id,
  method: 'tools/call',
  params: { name: `mcp__up__${name}`, arguments: input },
});

describe('WebSocket', () => {
  verifies('P1', 'serves clients of both eras', async () => {
    const gateway = await gatewayUnderTest({ servers: { up: recordingServer({ do: () => text('done') }) } });
    const { request, socket } = await connect(gateway);
    expect(socket.protocol).toBe('mcp');
    const hello = await request({ id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18' } });
    expect(hello.result).toMatchObject({ protocolVersion: '2025-06-18', serverInfo: { name: 'heddle' } });
    expect(await request(callOf(2, 'do'))).toEqual({ jsonrpc: '2.0', id: 2, result: text('done') });
    const [call] = modern('tools/call', { name: 'mcp__up__do', arguments: {} });
    expect((await request({ ...call, id: 3 })).result).toEqual({ resultType: 'complete', ...text('done') });
  });

  verifies('P1', 'sends list changes to an initialized client', async () => {
    const server = recordingServer({ before: () => text('') });
    const { request, received } = await connect(await gatewayUnderTest({ servers: { up: server } }));
    await request({ id: 1, method: 'initialize', params: {} });
    await request({ id: 2, method: 'tools/list' });
    server.change({ after: () => text('') });
    await until('the list change is received', () =>
      received.some(({ method }) => method === 'notifications/tools/list_changed'),
    );
  });

  verifies('P4', 'refuses a wrong token, host or origin', async () => {
    const gateway = await gatewayUnderTest();
    const { headers } = AUTHORIZED;
    expect(await refusal(open(gateway, {}))).toBe(401);
    expect(await refusal(open(gateway, { headers: { authorization: 'Bearer wrong' } }))).toBe(401);
    expect(await refusal(open(gateway, { headers: { ...headers, host: 'evil.example' } }))).toBe(403);
    expect(await refusal(open(gateway, { ...AUTHORIZED, origin: 'http://evil.example' }))).toBe(403);
    expect(await refusal(open(gateway, AUTHORIZED, '/mcp/unknown'))).toBe(404);
    expect(await refusal(open(gateway, AUTHORIZED, '/elsewhere'))).toBe(404);
    expect((await gateway.post({ id: 1, method: 'ping' })).status).toBe(200);
  });

  verifies('P2', 'shows only the servers of the profile', async () => {
    const config = { profiles: { small: { servers: ['up'] } } };
    const servers = { up: recordingServer({ one: () => text('') }), other: recordingServer({ two: () => text('') }) };
    const gateway = await gatewayUnderTest({ servers, config });
    const socket = open(gateway, AUTHORIZED, '/mcp/small');
    await once(socket, 'open');
    socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }));
    const [bytes] = await once(socket, 'message');
    const { tools } = JSON.parse(String(bytes)).result as { tools: { name: string }[] };
    expect(tools.map(({ name }) => name)).toEqual(['mcp__up__one']);
  });

  it.each([
    ['broken JSON', '{"jsonrpc"', -32700],
    ['a batch', '[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600],
    ['a binary frame', Buffer.from('{}'), -32600],
    ['an id that is null', '{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600],
  ])('P6: refuses %s and reads the next message', async (_, frame, code) => {
    const { request, socket, received } = await connect(await gatewayUnderTest());
    socket.send(frame);
    expect((await request({ id: 'after', method: 'ping' })).result).toEqual({});
    expect(received[0]).toMatchObject({ id: null, error: { code } });
  });

  verifies('P6', 'closes the socket with 1009 after a message over the limit', async () => {
    const { socket } = await connect(await gatewayUnderTest({ gateway: { maxBodyBytes: 1000 } }));
    socket.send('x'.repeat(1001));
    expect((await once(socket, 'close'))[0]).toBe(1009);
  });

  verifies('F5', 'gives clients that all use the id 1 their own responses', async () => {
    const scramble: Behaviour = async ({ who, turns }) => {
      for (let turn = 0; turn < Number(turns); turn++) await new Promise((resolve) => setImmediate(resolve));
      return text(`for ${who}`);
    };
    const gateway = await gatewayUnderTest({ servers: { up: recordingServer({ scramble }) } });
    const clients = await Promise.all(Array.from({ length: CLIENTS }, () => connect(gateway)));
    const responses = await Promise.all(
      clients.map(({ request }, who) => request(callOf(1, 'scramble', { who, turns: (who * 7) % 23 }))),
    );
    expect(responses).toEqual(clients.map((_, who) => ({ jsonrpc: '2.0', id: 1, result: text(`for ${who}`) })));
  });

  verifies('F6', 'cancels the call of a client that disconnects', async () => {
    const server = recordingServer({ forever: () => new Promise(() => {}) });
    const { socket, send } = await connect(await gatewayUnderTest({ servers: { up: server } }));
    send(callOf(1, 'forever'));
    await until('the call has arrived', () => server.calls.length === 1);
    socket.terminate();
    await until('the call is cancelled', () => server.cancelled.length === 1);
  });

  verifies('F6', 'disconnects a client with more than 32 MB unread', async () => {
    const big = text('x'.repeat(10_000_000));
    const gateway = await gatewayUnderTest({ servers: { up: recordingServer({ big: () => big }) } });
    const { socket, send } = await connect(gateway);
    socket.pause();
    for (let id = 1; id <= 12; id++) send(callOf(id, 'big'));
    const closed = once(socket, 'close');
    await until('the client is disconnected', () => {
      socket.ping();
      return socket.readyState !== WebSocket.OPEN;
    });
    socket.resume();
    await closed;
  });

  verifies('P6', 'answers requests in flight when the gateway closes', async () => {
    const gate = Promise.withResolvers<JsonObject>();
    const server = recordingServer({ wait: () => gate.promise });
    const gateway = await gatewayUnderTest({ servers: { up: server } });
    const { socket, send, received } = await connect(gateway);
    send(callOf(1, 'wait'));
    await until('the call has arrived', () => server.calls.length === 1);
    const closed = once(socket, 'close');
    const stopped = gateway.close(10_000);
    gate.resolve(text('in the end'));
    expect((await closed)[0]).toBe(1001);
    await stopped;
    expect(received).toEqual([{ jsonrpc: '2.0', id: 1, result: text('in the end') }]);
  });

  verifies('P6', 'disconnects clients with open requests when the close deadline is over', async () => {
    const server = recordingServer({ forever: () => new Promise(() => {}) });
    const gateway = await gatewayUnderTest({ servers: { up: server } });
    const { socket, send } = await connect(gateway);
    send(callOf(1, 'forever'));
    await until('the call has arrived', () => server.calls.length === 1);
    const closed = once(socket, 'close');
    await gateway.close(50);
    await closed;
    expect(server.cancelled).toEqual(['forever']);
  });
});

verifies('F6', 'disconnects a client that answers no ping', async () => {
  const transports: WsServerTransport[] = [];
  const server = await listenWs((socket) => {
    const transport = new WsServerTransport(socket, () => {}, 20);
    transports.push(transport);
    void transport.start();
  });
  onTestFinished(() => server.close());
  const [dead, alive] = [new WebSocket(server.url, { autoPong: false }), new WebSocket(server.url)];
  let pings = 0;
  alive.on('ping', () => pings++);
  await once(dead, 'close');
  await until('the other client gets pings', () => pings > 4);
  expect([transports.length, alive.readyState]).toEqual([2, WebSocket.OPEN]);
  alive.close();
});
