import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { type RawClient, rawClient } from '../../../test/raw-client.ts';
import { calling, type Headers, ping, requestOf } from '../../../test/raw-requests.ts';
import { verifies } from '../../../test/requirements.ts';
import { recordingServer, text } from '../../../test/servers/recording-server.ts';
import { until } from '../../../test/until.ts';
import type { JsonObject } from '../../core/call.ts';
import { gatewayUnderTest, openSession } from '../fixtures.ts';

const DRAIN_MS = 10_000;
const BY_NODE = { te: 'trailers' };
const WAYS: readonly (readonly [string, Headers])[] = [
  ['plain', {}],
  ['node', BY_NODE],
];

/** Returns the response ids in order, each with the path that served it. */
const served = (responses: Awaited<ReturnType<RawClient['answered']>>) =>
  responses.map(({ body, way }) => [JSON.parse(body).id, way]);

/** A gateway whose tool `wait` returns when `gate` resolves. */
async function gatewayWithWait() {
  const gate = Promise.withResolvers<JsonObject>();
  const server = recordingServer({ wait: () => gate.promise });
  const gateway = await gatewayUnderTest({ servers: { up: server } });
  const client = await rawClient(gateway);
  const isCalled = () => until('it is called', () => server.calls.length === 1);
  return { gate, server, gateway, client, isCalled };
}

describe('pipelined requests', () => {
  verifies('P1', 'are answered in order', async () => {
    const client = await rawClient(await gatewayUnderTest());
    client.socket.write(ping(1) + ping(2) + ping(3));
    expect(served(await client.answered(3))).toEqual([1, 2, 3].map((id) => [id, 'plain']));
  });

  verifies('P1', 'are answered in order if Node serves one of them', async () => {
    const client = await rawClient(await gatewayUnderTest());
    client.socket.write(ping(1) + ping(2, BY_NODE) + ping(3));
    const byNode = [2, 3].map((id) => [id, 'node']);
    expect(served(await client.answered(3))).toEqual([[1, 'plain'], ...byNode]);
  });

  it.each(WAYS)('P1: wait for the call before them: %s', async (way, headers) => {
    const { gate, client, isCalled, gateway } = await gatewayWithWait();
    client.socket.write(calling('wait') + ping(2, headers));
    await isCalled();
    client.socket.write(ping(3, headers));
    await gateway.post({ id: 0, method: 'ping' });
    expect(client.text()).toBe('');
    gate.resolve(text('done'));
    expect(served(await client.answered(3))).toEqual([
      [1, 'plain'],
      [2, way],
      [3, way],
    ]);
  });

  verifies('F6', 'over 256 kB disconnect the client and cancel its call', async () => {
    const { client, isCalled, server } = await gatewayWithWait();
    client.socket.on('error', () => {});
    client.socket.write(calling('wait'));
    await isCalled();
    const params = { x: 'x'.repeat(60_000) };
    for (let id = 0; id < 10; id++) client.socket.write(ping(id, {}, params));
    await until('its call is cancelled', () => server.cancelled.length === 1);
    await until('the connection is closed', () => client.socket.closed);
    expect(client.text()).toBe('');
  });
});

describe('requests that waited for a response', () => {
  verifies('P1', 'are served by the fast path, and so is the next', async () => {
    const { gate, client, isCalled } = await gatewayWithWait();
    client.socket.write(calling('wait'));
    await isCalled();
    const count = 400;
    const together = ping(2).repeat(count);
    expect(together.length).toBeGreaterThan(64 * 1024);
    client.socket.write(together);
    await until('all are sent', () => client.socket.writableLength === 0);
    await nextTurn();
    gate.resolve(text('done'));
    await client.answered(count + 1);
    client.socket.write(ping(3));
    expect(served(await client.answered(count + 2)).at(-1)?.[0]).toBe(3);
  });
});

describe('unread responses', () => {
  verifies('F6', 'delay the pipelined requests until they are read', async () => {
    const server = recordingServer({ long: () => text('x'.repeat(1_000_000)) });
    const gateway = await gatewayUnderTest({ servers: { up: server } });
    const client = await rawClient(gateway);
    const count = 40;
    client.socket.pause();
    client.socket.write(calling('long').repeat(count));
    let before = -1;
    while (server.calls.length === 0 || server.calls.length > before) {
      before = server.calls.length;
      for (let turn = 0; turn < 20; turn++) await gateway.post({ id: 0, method: 'ping' });
    }
    expect(server.calls.length).toBeLessThan(count);
    client.socket.resume();
    await until('all are called', () => server.calls.length === count);
    expect(await client.answered(count)).toHaveLength(count);
  });
});

describe('a request in several chunks', () => {
  const whole = ping(1, {}, { word: 'naïf' });
  const bytes = Buffer.from(whole);
  const splits = Array.from({ length: bytes.length - 1 }, (_, index) => index + 1);

  verifies('P1', 'is answered for every split position', async () => {
    const gateway = await gatewayUnderTest();
    for (const at of splits) {
      const client = await rawClient(gateway);
      await new Promise((resolve) => client.socket.write(bytes.subarray(0, at), resolve));
      await nextTurn();
      await nextTurn();
      client.socket.write(bytes.subarray(at));
      expect(served(await client.answered(1))).toEqual([[1, 'node']]);
      client.socket.destroy();
    }
  });

  verifies('P1', 'after another one is answered for every split position', async () => {
    const gateway = await gatewayUnderTest();
    for (const at of splits) {
      const client = await rawClient(gateway);
      client.socket.write(Buffer.concat([Buffer.from(ping(0)), bytes.subarray(0, at)]));
      await client.answered(1);
      client.socket.write(bytes.subarray(at));
      expect((await client.answered(2)).map(({ body }) => JSON.parse(body).id)).toEqual([0, 1]);
      client.socket.destroy();
    }
  });

  verifies('P1', 'with a large body is answered, and so is the next', async () => {
    const client = await rawClient(await gatewayUnderTest());
    client.socket.write(ping(1, {}, { x: 'x'.repeat(300_000) }));
    await client.answered(1);
    client.socket.write(ping(2));
    expect(served(await client.answered(2)).map(([id]) => id)).toEqual([1, 2]);
  });
});

describe('after a fast request', () => {
  async function afterPing(): Promise<{ client: RawClient; session: Headers }> {
    const gateway = await gatewayUnderTest();
    const session = await openSession(gateway);
    const client = await rawClient(gateway);
    client.socket.write(ping(1, session));
    expect(served(await client.answered(1))).toEqual([[1, 'plain']]);
    return { client, session };
  }

  verifies('P1', 'a stream can be opened on the same connection', async () => {
    const { client, session } = await afterPing();
    client.socket.write(requestOf('GET', { ...session, accept: 'text/event-stream' }));
    await until('it is open', () => client.text().includes('text/event-stream'));
    expect(client.text().match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 200']);
  });

  verifies('P1', 'a session can be ended on the same connection', async () => {
    const { client, session } = await afterPing();
    client.socket.write(requestOf('DELETE', session));
    expect(await client.answered(2)).toMatchObject([{}, { status: 200, way: 'node' }]);
    client.socket.write(ping(2, session));
    expect(await client.answered(3)).toMatchObject([{}, {}, { status: 404, way: 'node' }]);
  });

  verifies('P1', 'the connection can be upgraded to a WebSocket', async () => {
    const { client } = await afterPing();
    const key = { 'sec-websocket-version': '13', 'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==' };
    const upgrade = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-protocol': 'mcp', ...key };
    client.socket.write(requestOf('GET', upgrade));
    await until('it is upgraded', () => client.text().includes('HTTP/1.1 101 Switching Protocols'));
  });
});

describe('a client that disconnects', () => {
  verifies('F6', 'cancels its call', async () => {
    const { server, client, isCalled } = await gatewayWithWait();
    client.socket.write(calling('wait'));
    await isCalled();
    client.socket.destroy();
    await until('it is cancelled', () => server.cancelled.length === 1);
  });

  it.each(WAYS)('F6: cancels its call when it ends its side: %s', async (_, headers) => {
    const { server, client, isCalled } = await gatewayWithWait();
    client.socket.write(calling('wait', headers));
    await isCalled();
    client.socket.end();
    expect(await client.ended()).toEqual([]);
    await until('it is cancelled', () => server.cancelled.length === 1);
  });

  it.each(WAYS)('P1: gets the responses to all pipelined requests: %s', async (way, headers) => {
    const client = await rawClient(await gatewayUnderTest());
    client.socket.end(ping(1, headers) + ping(2, headers) + ping(3, headers));
    expect(served(await client.ended())).toEqual([1, 2, 3].map((id) => [id, way]));
  });

  it.each(WAYS)('P1: gets the rest of a response that has begun: %s', async (_, headers) => {
    const long = 'x'.repeat(12_000_000);
    const gateway = await gatewayUnderTest({ servers: { up: recordingServer({ long: () => text(long) }) } });
    const client = await rawClient(gateway);
    const { socket } = client;
    socket.once('data', () => socket.pause());
    socket.write(calling('long', headers));
    await until('the response has begun', () => client.text() !== '');
    await new Promise<void>((resolve) => socket.end(resolve));
    await gateway.post({ id: 0, method: 'ping' });
    socket.resume();
    const [response] = await client.ended();
    expect(response?.body.length ?? 0).toBeGreaterThan(long.length);
  });
});

describe('a gateway that closes', () => {
  verifies('P6', 'closes idle connections at once and others after their response', async () => {
    const { gate, client, isCalled, gateway } = await gatewayWithWait();
    const [idle, silent] = [await rawClient(gateway), await rawClient(gateway)];
    idle.socket.write(ping(1));
    await idle.answered(1);
    client.socket.write(calling('wait'));
    await isCalled();
    const closed = gateway.close(DRAIN_MS);
    expect(served(await idle.ended())).toEqual([[1, 'plain']]);
    expect(await silent.ended()).toEqual([]);
    gate.resolve(text('in the end'));
    expect(served(await client.ended())).toEqual([[1, 'plain']]);
    await closed;
  });

  verifies('P6', 'closes a connection after its response while others still wait', async () => {
    const gates = { one: Promise.withResolvers<JsonObject>(), other: Promise.withResolvers<JsonObject>() };
    const server = recordingServer({ one: () => gates.one.promise, other: () => gates.other.promise });
    const gateway = await gatewayUnderTest({ servers: { up: server } });
    const [one, other] = [await rawClient(gateway), await rawClient(gateway)];
    one.socket.write(calling('one'));
    other.socket.write(calling('other'));
    await until('both are called', () => server.calls.length === 2);
    const closed = gateway.close(DRAIN_MS);
    gates.one.resolve(text('first'));
    expect(served(await one.ended())).toEqual([[1, 'plain']]);
    expect(other.text()).toBe('');
    gates.other.resolve(text('then'));
    expect(served(await other.ended())).toEqual([[1, 'plain']]);
    await closed;
  });

  it.each(WAYS)('P6: lets a long response be read to its end: %s', async (_, headers) => {
    const { gate, client, isCalled, gateway } = await gatewayWithWait();
    const long = 'x'.repeat(12_000_000);
    client.socket.write(calling('wait', headers));
    await isCalled();
    const closed = gateway.close(DRAIN_MS);
    gate.resolve(text(long));
    const [response] = await client.ended();
    expect(response?.body.length ?? 0).toBeGreaterThan(long.length);
    await closed;
  });

  verifies('P6', 'disconnects clients with calls in flight after the drain time', async () => {
    const { server, client, isCalled, gateway } = await gatewayWithWait();
    client.socket.write(calling('wait'));
    await isCalled();
    await gateway.close(50);
    expect(await client.ended()).toEqual([]);
    await until('it is cancelled', () => server.cancelled.length === 1);
  });
});
