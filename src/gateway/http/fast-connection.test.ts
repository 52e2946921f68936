import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { type RawClient, rawClient } from '../../../test/raw-client.ts';
import { calling, type Headers, ping, requestOf } from '../../../test/raw-requests.ts';
import { verifies } from '../../../test/requirements.ts';
import { recordingServer, text } from '../../../test/servers/recording-server.ts';
import { until } from '../../../test/until.ts';
import type { JsonObject } from '../../core/call.ts';
import { gatewayUnderTest, openSession } from '../fixtures.ts';

const PATIENCE_MS = 10_000;
const BY_NODE = { te: 'trailers' };
const WAYS: readonly (readonly [string, Headers])[] = [
  ['plain', {}],
  ['node', BY_NODE],
];

/** Which ids were answered, in order, and by whom. */
const told = (answers: Awaited<ReturnType<RawClient['answered']>>) =>
  answers.map(({ body, way }) => [JSON.parse(body).id, way]);

/** A gateway whose tool `wait` waits until it may go on. */
async function waiting() {
  const gate = Promise.withResolvers<JsonObject>();
  const server = recordingServer({ wait: () => gate.promise });
  const gateway = await gatewayUnderTest({ servers: { up: server } });
  const client = await rawClient(gateway);
  const isCalled = () => until('it is called', () => server.calls.length === 1);
  return { gate, server, gateway, client, isCalled };
}

describe('requests that come together', () => {
  verifies('P1', 'are answered in order', async () => {
    const client = await rawClient(await gatewayUnderTest());
    client.socket.write(ping(1) + ping(2) + ping(3));
    expect(told(await client.answered(3))).toEqual([1, 2, 3].map((id) => [id, 'plain']));
  });

  verifies('P1', 'are answered in order when one of them is for Node', async () => {
    const client = await rawClient(await gatewayUnderTest());
    client.socket.write(ping(1) + ping(2, BY_NODE) + ping(3));
    const byNode = [2, 3].map((id) => [id, 'node']);
    expect(told(await client.answered(3))).toEqual([[1, 'plain'], ...byNode]);
  });

  it.each(WAYS)('P1: wait for a call before them: %s', async (way, headers) => {
    const { gate, client, isCalled, gateway } = await waiting();
    client.socket.write(calling('wait') + ping(2, headers));
    await isCalled();
    client.socket.write(ping(3, headers));
    await gateway.post({ id: 0, method: 'ping' });
    expect(client.text()).toBe('');
    gate.resolve(text('done'));
    expect(told(await client.answered(3))).toEqual([
      [1, 'plain'],
      [2, way],
      [3, way],
    ]);
  });

  verifies('F6', 'are cut off with the call before them when there is no end of them', async () => {
    const { client, isCalled, server } = await waiting();
    client.socket.on('error', () => {});
    client.socket.write(calling('wait'));
    await isCalled();
    const params = { x: 'x'.repeat(60_000) };
    for (let id = 0; id < 10; id++) client.socket.write(ping(id, {}, params));
    await until('its call is cancelled', () => server.cancelled.length === 1);
    await until('the line is closed', () => client.socket.closed);
    expect(client.text()).toBe('');
  });
});

describe('requests that were held back', () => {
  verifies('P1', 'are served plainly when they are whole, and so is the next', async () => {
    const { gate, client, isCalled } = await waiting();
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
    expect(told(await client.answered(count + 2)).at(-1)?.[0]).toBe(3);
  });
});

describe('answers that nobody reads', () => {
  verifies('F6', 'hold back the requests behind them until they are read', async () => {
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

describe('a request that comes in pieces', () => {
  const whole = ping(1, {}, { word: 'naïf' });
  const bytes = Buffer.from(whole);
  const splits = Array.from({ length: bytes.length - 1 }, (_, at) => at + 1);

  verifies('P1', 'is answered wherever it is cut', async () => {
    const gateway = await gatewayUnderTest();
    for (const at of splits) {
      const client = await rawClient(gateway);
      await new Promise((resolve) => client.socket.write(bytes.subarray(0, at), resolve));
      await nextTurn();
      await nextTurn();
      client.socket.write(bytes.subarray(at));
      expect(told(await client.answered(1))).toEqual([[1, 'node']]);
      client.socket.destroy();
    }
  });

  verifies('P1', 'after another one is answered wherever it is cut', async () => {
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

  verifies('P1', 'because it is large is answered, and so is the next', async () => {
    const client = await rawClient(await gatewayUnderTest());
    client.socket.write(ping(1, {}, { x: 'x'.repeat(300_000) }));
    await client.answered(1);
    client.socket.write(ping(2));
    expect(told(await client.answered(2)).map(([id]) => id)).toEqual([1, 2]);
  });
});

describe('after a plain request', () => {
  async function greeted(): Promise<{ client: RawClient; session: Headers }> {
    const gateway = await gatewayUnderTest();
    const session = await openSession(gateway);
    const client = await rawClient(gateway);
    client.socket.write(ping(1, session));
    expect(told(await client.answered(1))).toEqual([[1, 'plain']]);
    return { client, session };
  }

  verifies('P1', 'a stream can be opened on the same line', async () => {
    const { client, session } = await greeted();
    client.socket.write(requestOf('GET', { ...session, accept: 'text/event-stream' }));
    await until('it is open', () => client.text().includes('text/event-stream'));
    expect(client.text().match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 200']);
  });

  verifies('P1', 'a session can be ended on the same line', async () => {
    const { client, session } = await greeted();
    client.socket.write(requestOf('DELETE', session));
    expect(await client.answered(2)).toMatchObject([{}, { status: 200, way: 'node' }]);
    client.socket.write(ping(2, session));
    expect(await client.answered(3)).toMatchObject([{}, {}, { status: 404, way: 'node' }]);
  });

  verifies('P1', 'the same line can become a WebSocket', async () => {
    const { client } = await greeted();
    const key = { 'sec-websocket-version': '13', 'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==' };
    const upgrade = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-protocol': 'mcp', ...key };
    client.socket.write(requestOf('GET', upgrade));
    await until('it is one', () => client.text().includes('HTTP/1.1 101 Switching Protocols'));
  });
});

describe('a client that stops talking', () => {
  verifies('F6', 'cancels its call when it leaves', async () => {
    const { server, client, isCalled } = await waiting();
    client.socket.write(calling('wait'));
    await isCalled();
    client.socket.destroy();
    await until('it is cancelled', () => server.cancelled.length === 1);
  });

  it.each(WAYS)('F6: cancels its call when it says that it is done, and hears no more: %s', async (_, headers) => {
    const { server, client, isCalled } = await waiting();
    client.socket.write(calling('wait', headers));
    await isCalled();
    client.socket.end();
    expect(await client.ended()).toEqual([]);
    await until('it is cancelled', () => server.cancelled.length === 1);
  });

  it.each(WAYS)('P1: gets the answers to all that was asked together: %s', async (way, headers) => {
    const client = await rawClient(await gatewayUnderTest());
    client.socket.end(ping(1, headers) + ping(2, headers) + ping(3, headers));
    expect(told(await client.ended())).toEqual([1, 2, 3].map((id) => [id, way]));
  });

  it.each(WAYS)('P1: gets all of an answer that has begun: %s', async (_, headers) => {
    const long = 'x'.repeat(12_000_000);
    const gateway = await gatewayUnderTest({ servers: { up: recordingServer({ long: () => text(long) }) } });
    const client = await rawClient(gateway);
    const { socket } = client;
    socket.once('data', () => socket.pause());
    socket.write(calling('long', headers));
    await until('the answer has begun', () => client.text() !== '');
    await new Promise<void>((resolve) => socket.end(resolve));
    await gateway.post({ id: 0, method: 'ping' });
    socket.resume();
    const [answer] = await client.ended();
    expect(answer?.body.length ?? 0).toBeGreaterThan(long.length);
  });
});

describe('a gateway that is told to stop', () => {
  verifies('P6', 'ends lines on which nothing is under way at once, and others with their answer', async () => {
    const { gate, client, isCalled, gateway } = await waiting();
    const [idle, silent] = [await rawClient(gateway), await rawClient(gateway)];
    idle.socket.write(ping(1));
    await idle.answered(1);
    client.socket.write(calling('wait'));
    await isCalled();
    const closed = gateway.close(PATIENCE_MS);
    expect(told(await idle.ended())).toEqual([[1, 'plain']]);
    expect(await silent.ended()).toEqual([]);
    gate.resolve(text('in the end'));
    expect(told(await client.ended())).toEqual([[1, 'plain']]);
    await closed;
  });

  verifies('P6', 'ends a line with its answer while others still wait for theirs', async () => {
    const gates = { one: Promise.withResolvers<JsonObject>(), other: Promise.withResolvers<JsonObject>() };
    const server = recordingServer({ one: () => gates.one.promise, other: () => gates.other.promise });
    const gateway = await gatewayUnderTest({ servers: { up: server } });
    const [one, other] = [await rawClient(gateway), await rawClient(gateway)];
    one.socket.write(calling('one'));
    other.socket.write(calling('other'));
    await until('both are called', () => server.calls.length === 2);
    const closed = gateway.close(PATIENCE_MS);
    gates.one.resolve(text('first'));
    expect(told(await one.ended())).toEqual([[1, 'plain']]);
    expect(other.text()).toBe('');
    gates.other.resolve(text('then'));
    expect(told(await other.ended())).toEqual([[1, 'plain']]);
    await closed;
  });

  it.each(WAYS)('P6: lets a long answer be read to its end: %s', async (_, headers) => {
    const { gate, client, isCalled, gateway } = await waiting();
    const long = 'x'.repeat(12_000_000);
    client.socket.write(calling('wait', headers));
    await isCalled();
    const closed = gateway.close(PATIENCE_MS);
    gate.resolve(text(long));
    const [answer] = await client.ended();
    expect(answer?.body.length ?? 0).toBeGreaterThan(long.length);
    await closed;
  });

  verifies('P6', 'cuts what is still under way when its patience is over', async () => {
    const { server, client, isCalled, gateway } = await waiting();
    client.socket.write(calling('wait'));
    await isCalled();
    await gateway.close(50);
    expect(await client.ended()).toEqual([]);
    await until('it is cancelled', () => server.cancelled.length === 1);
  });
});
