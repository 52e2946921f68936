import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { expect, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { verifies } from '../../../test/requirements.ts';
import { recordingServer, text } from '../../../test/servers/recording-server.ts';
import { until } from '../../../test/until.ts';
import { gatewayUnderTest, OWNER, TOKEN } from '../fixtures.ts';
import { serveStdio } from './serve-stdio.ts';

interface Client {
  readonly send: (message: unknown) => void;
  readonly received: unknown[];
}

async function opened(transport: string) {
  const server = recordingServer({ do: () => text('done'), forever: () => new Promise(() => {}) });
  const gateway = await gatewayUnderTest({ servers: { up: server } });
  const client = transport === 'stdio' ? overStdio(gateway) : await overWs(gateway);
  const params = { protocolVersion: '2025-03-26' };
  client.send({ jsonrpc: '2.0', id: 'hello', method: 'initialize', params });
  await until('the handshake is answered', () => client.received.length === 1);
  client.received.length = 0;
  return { ...client, server };
}

function overStdio({ heddle }: Awaited<ReturnType<typeof gatewayUnderTest>>): Client {
  const [input, output, stop] = [new PassThrough(), new PassThrough(), new AbortController()];
  onTestFinished(() => stop.abort());
  const received: unknown[] = [];
  output.on('data', (chunk) => {
    for (const line of String(chunk).split('\n')) if (line) receive(received, line);
  });
  void serveStdio({ heddle, caller: OWNER, input, output }, stop.signal);
  return { received, send: (message) => void input.write(`${JSON.stringify(message)}\n`) };
}

// On a slow machine the server is listed after the handshake, and the gateway announces its tools.
function receive(received: unknown[], text: string): void {
  const message = JSON.parse(text);
  if (!String(message.method).endsWith('/list_changed')) received.push(message);
}

async function overWs({ port }: { readonly port: number }): Promise<Client> {
  const headers = { authorization: `Bearer ${TOKEN}` };
  const socket = new WebSocket(`ws://127.0.0.1:${port}/mcp`, ['mcp'], { headers });
  onTestFinished(() => socket.terminate());
  const received: unknown[] = [];
  socket.on('message', (bytes) => receive(received, String(bytes)));
  await once(socket, 'open');
  return { received, send: (message) => socket.send(JSON.stringify(message)) };
}

const ping = (id: unknown) => ({ jsonrpc: '2.0', id, method: 'ping' });
const call = (id: number, name: string) => ({ ...ping(id), method: 'tools/call', params: { name, arguments: {} } });
const pong = (id: unknown) => ({ jsonrpc: '2.0', id, result: {} });

for (const transport of ['stdio', 'WebSocket']) {
  verifies('P6', `a batch over ${transport} is answered with one array, refusals included`, async () => {
    const { send, received } = await opened(transport);
    const notification = { jsonrpc: '2.0', method: 'notifications/initialized' };
    send([ping(1), notification, call(2, 'mcp__up__do'), { jsonrpc: '2.0', id: 3 }, ping('four')]);
    await until('the batch is answered', () => received.length === 1);
    const error = { code: -32600, message: 'This is not one JSON-RPC message.' };
    const expected = [
      pong(1),
      pong('four'),
      { jsonrpc: '2.0', id: 2, result: text('done') },
      { jsonrpc: '2.0', id: null, error },
    ];
    expect(received[0]).toHaveLength(expected.length);
    expect(received[0]).toEqual(expect.arrayContaining(expected));
    send([notification]);
    send([7]);
    send(ping(5));
    await until('the others are answered', () => received.length === 3);
    expect(received.slice(1)).toEqual([[{ jsonrpc: '2.0', id: null, error }], pong(5)]);
  });

  verifies(
    'P6',
    `a batch over ${transport} with one id twice gets the response and an error in its array`,
    async () => {
      const { send, received, server } = await opened(transport);
      send([call(1, 'mcp__up__do'), ping(1)]);
      await until('the batch is answered', () => received.length === 1);
      const error = { code: -32600, message: 'The id 1 is still in use.' };
      expect(received[0]).toEqual([
        { jsonrpc: '2.0', id: 1, error },
        { jsonrpc: '2.0', id: 1, result: text('done') },
      ]);
      send([call(2, 'mcp__up__forever'), ping(3)]);
      await until('the call has arrived', () => server.calls.length === 2);
      send(ping(2));
      await until('the request outside of the batch is refused', () => received.length === 2);
      send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 2 } });
      await until('the batch is answered', () => received.length === 3);
      const inUse = { jsonrpc: '2.0', id: 2, error: { ...error, message: 'The id 2 is still in use.' } };
      expect(received.slice(1)).toEqual([inUse, [pong(3)]]);
    },
  );

  verifies('P6', `a batch over ${transport} does not wait for a request in it that was cancelled`, async () => {
    const { send, received, server } = await opened(transport);
    send([call(1, 'mcp__up__forever'), ping(2)]);
    await until('the call has arrived', () => server.calls.length === 1);
    send(ping(3));
    await until('a request outside of the batch is answered by itself', () => received.length === 1);
    send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } });
    await until('the batch is answered', () => received.length === 2);
    expect(received).toEqual([pong(3), [pong(2)]]);
  });
}
