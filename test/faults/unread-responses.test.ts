import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { expect, onTestFinished } from 'vitest';
import { SETTING_DEFAULTS } from '../../src/config/schema/defaults.ts';
import { type GatewayUnderTest, gatewayUnderTest, JSON_HEADERS, OWNER, TOKEN } from '../../src/gateway/fixtures.ts';
import { serveStdio } from '../../src/gateway/transports/serve-stdio.ts';
import type { UnsentLimits } from '../../src/gateway/unsent-bytes.ts';
import { expectGrowth, MEASURES, residentMegabytes, timeOf } from '../limits.ts';
import { calling, posting } from '../raw-requests.ts';
import { verifies } from '../requirements.ts';
import { recordingServer, text } from '../servers/recording-server.ts';
import { until } from '../until.ts';

const MB = 1_000_000;
const LONG = 9 * MB; // More than the buffers of the system take.
const LONG_RESULT = text('x'.repeat(LONG));
const SILENT = MEASURES ? 60 : 4;
const CALLS = MEASURES ? 1000 : 10;
const LIMITS: UnsentLimits = {
  connectionBytes: 32 * MB,
  callerBytes: 22 * MB, // At 33 MB a connection is closed at once.
  totalBytes: 256 * MB,
  timeoutMs: 30_000,
};

function manualTimer() {
  const callbacks = new Set<() => void>();
  return {
    timer(_delayMs: number, callback: () => void) {
      callbacks.add(callback);
      return () => void callbacks.delete(callback);
    },
    fire() {
      const due = [...callbacks];
      callbacks.clear();
      for (const callback of due) callback();
    },
  };
}

async function underTest(unsent = LIMITS) {
  const server = recordingServer({
    long: () => LONG_RESULT,
    short: () => text('short'),
    forever: () => new Promise(() => {}),
  });
  const lines: string[] = [];
  const { timer, fire } = manualTimer();
  const report = (line: string) => void lines.push(line);
  const gateway = await gatewayUnderTest({
    servers: { up: server },
    config: { gateway: { unsent } },
    gateway: { unsent, timer, report },
  });
  return { server, lines, fire, timer, report, ...gateway };
}

type UnderTest = Awaited<ReturnType<typeof underTest>>;

/** Sends text on a connection and never reads from it. */
function writeOnly({ port }: { readonly port: number }, text: string): Socket {
  const socket = connect(port, '127.0.0.1').pause();
  socket.on('error', () => {});
  onTestFinished(() => void socket.destroy());
  socket.write(text);
  return socket;
}

const callOf = (id: number, name: string) => ({
  ...{ jsonrpc: '2.0', id },
  method: 'tools/call',
  params: { name: `mcp__up__${name}`, arguments: {} },
});

/** Makes a WebSocket frame of a client, with a mask of zeros. */
function frameOf(text: string): Buffer {
  const head = Buffer.from([0x81, 0x80 | 126, text.length >> 8, text.length & 255, 0, 0, 0, 0]);
  return Buffer.concat([head, Buffer.from(text)]);
}

const UPGRADE = Object.entries({
  ...{ host: 'localhost', authorization: `Bearer ${TOKEN}`, connection: 'Upgrade', upgrade: 'websocket' },
  ...{ 'sec-websocket-version': '13', 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' },
});

/** By transport: makes calls of these tools on one connection whose responses are never read. */
const TRANSPORTS: Readonly<Record<string, (gateway: UnderTest, names: readonly string[]) => Promise<void>>> = {
  async 'the fast path'(gateway, names) {
    writeOnly(gateway, names.map((name) => calling(name)).join(''));
  },
  async "Node's HTTP server"(gateway, names) {
    writeOnly(gateway, names.map((name) => calling(name, { te: 'trailers' })).join(''));
  },
  async SSE(gateway, names) {
    const socket = connect(gateway.port, '127.0.0.1');
    socket.on('error', () => {});
    onTestFinished(() => void socket.destroy());
    socket.write(`GET /sse HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${TOKEN}\r\n\r\n`);
    let head = '';
    while (!head.includes('sessionId=')) head += (await once(socket, 'data'))[0];
    socket.pause();
    const path = /data: (\S+)/.exec(head)?.[1] ?? '';
    for (const [id, name] of names.entries()) {
      const { status } = await gateway.send({ path, headers: JSON_HEADERS, body: JSON.stringify(callOf(id, name)) });
      expect(status).toBe(202);
    }
  },
  async WebSocket(gateway, names) {
    const fields = UPGRADE.map(([name, value]) => `${name}: ${value}\r\n`).join('');
    const socket = writeOnly(gateway, `GET /mcp HTTP/1.1\r\n${fields}\r\n`);
    for (const [id, name] of names.entries()) socket.write(frameOf(JSON.stringify(callOf(id, name))));
  },
};

const SERVED = { jsonrpc: '2.0', id: 1, result: text('short') };

async function expectService({ post }: Pick<GatewayUnderTest, 'post'>): Promise<void> {
  const { json } = await post({ id: 1, method: 'tools/call', params: { name: 'mcp__up__short', arguments: {} } });
  expect(json).toEqual(SERVED);
}

for (const [name, call] of Object.entries(TRANSPORTS)) {
  verifies('F6', `disconnects clients of ${name} that do not read, so that their caller keeps its limit`, async () => {
    const gateway = await underTest();
    const { server, lines } = gateway;
    for (let at = 0; at < 6; at++) {
      await call(gateway, ['long']);
      await until('the call has arrived', () => server.calls.length === at + 1);
    }
    await until('three are disconnected', () => lines.length === 3);
    for (const line of lines) {
      expect(line).toMatch(/^Closed a connection of owner with \d+ unread bytes: gateway\.unsent\.callerBytes/);
    }
    await expectService(gateway);
  });

  verifies('F6', `disconnects a client of ${name} that takes no byte in time, and cancels its calls`, async () => {
    const gateway = await underTest();
    const { server, lines, fire } = gateway;
    const follows = name === 'the fast path' ? [] : ['forever'];
    await call(gateway, ['long', ...follows]);
    await until('the calls have arrived', () => server.calls.length === 1 + follows.length);
    await expectService(gateway);
    await until('the connection is closed', () => {
      fire();
      return lines.length === 1;
    });
    expect(lines[0]).toMatch(/unread bytes: it took no byte for 30000 ms/);
    await until('the other call is cancelled', () => server.cancelled.length === follows.length);
    await expectService(gateway);
  });
}

verifies('F6', 'disconnects a stdio client that does not read', async () => {
  const { heddle, server, lines, fire, timer, report } = await underTest();
  for (const isSilent of [true, false]) {
    const [input, output, stop] = [new PassThrough(), new PassThrough(), new AbortController()];
    onTestFinished(() => stop.abort());
    const ended = serveStdio({ heddle, caller: OWNER, input, output, timer, report }, stop.signal);
    const calls = server.calls.length;
    const names = isSilent ? ['long', 'forever'] : ['long', 'long', 'long', 'long', 'forever'];
    for (const [id, name] of names.entries()) input.write(`${JSON.stringify(callOf(id, name))}\n`);
    await until('the calls have arrived', () => server.calls.length === calls + names.length);
    await until('the client is disconnected', () => {
      if (isSilent) fire();
      return lines.length === (isSilent ? 1 : 2);
    });
    await ended;
  }
  expect(lines).toEqual([
    expect.stringMatching(/it took no byte for 30000 ms/),
    expect.stringMatching(/gateway\.unsent\.connectionBytes/),
  ]);
  await until('the other calls are cancelled', () => server.cancelled.length === 2);
});

verifies('F6', 'counts responses that wait for an earlier one on the same connection', async () => {
  const gateway = await underTest();
  const { server, lines } = gateway;
  const names = ['forever', 'long', 'long', 'long', 'long'];
  await TRANSPORTS["Node's HTTP server"]?.(gateway, names);
  await until('the connection is closed', () => lines.length === 1);
  expect(lines[0]).toContain('gateway.unsent.connectionBytes allows 32000000 for one connection.');
  await until('the first call is cancelled', () => server.cancelled.length === 1);
  await expectService(gateway);
});

verifies('F6', 'counts the responses that a batch keeps', async () => {
  const { heddle, server, lines, timer, report } = await underTest();
  const [input, output, stop] = [new PassThrough(), new PassThrough(), new AbortController()];
  onTestFinished(() => stop.abort());
  const ended = serveStdio({ heddle, caller: OWNER, input, output, timer, report }, stop.signal);
  const params = { protocolVersion: '2025-03-26' };
  input.write(`${JSON.stringify({ jsonrpc: '2.0', id: 'hello', method: 'initialize', params })}\n`);
  await once(output, 'data');
  const batch = ['forever', 'long', 'long', 'long', 'long'].map((name, id) => callOf(id, name));
  input.write(`${JSON.stringify(batch)}\n`);
  await ended;
  expect(lines).toEqual([expect.stringContaining('gateway.unsent.connectionBytes')]);
  await until('the first call is cancelled', () => server.cancelled.length === 1);
});

verifies('F6', 'disconnects a client that pipelines more than 100 requests', async () => {
  const gateway = await underTest();
  const { server } = gateway;
  const one = posting(callOf(1, 'forever'), { te: 'trailers' });
  const socket = writeOnly(gateway, one.repeat(101)).resume();
  await once(socket, 'close');
  await until('the calls are cancelled', () => server.cancelled.length === server.calls.length);
  await expectService(gateway);
});

/** Returns the slowest of the fastest 99 % of calls in milliseconds, the best of three rounds. */
async function p99(gateway: UnderTest): Promise<number> {
  const rounds: number[] = [];
  for (let round = 0; round < 3; round++) {
    const times: number[] = [];
    for (let at = 0; at < CALLS; at++) times.push(await timeOf(() => expectService(gateway)));
    rounds.push(times.sort((a, b) => a - b)[Math.floor(CALLS * 0.99)] ?? 0);
  }
  return Math.min(...rounds);
}

verifies(
  'F6',
  `keeps its memory and speed with ${SILENT} clients of every transport that do not read`,
  async () => {
    const gateway = await underTest(SETTING_DEFAULTS.gateway.unsent);
    const { server, lines } = gateway;
    await expectService(gateway);
    const alone = await p99(gateway);
    const before = residentMegabytes();
    let most = 0;
    for (const call of Object.values(TRANSPORTS)) {
      for (let at = 0; at < SILENT; at++) {
        const calls = server.calls.length;
        await call(gateway, ['long']);
        await until('the call has arrived', () => server.calls.length > calls);
        await expectService(gateway);
        most = Math.max(most, residentMegabytes() - before);
      }
    }
    // 96 MB hold 11 of these responses.
    await until('the others are disconnected', () => lines.length === 4 * SILENT - 11);
    const beside = await p99(gateway);
    most = Math.max(most, residentMegabytes() - before);
    if (MEASURES)
      process.stdout.write(`silent clients: +${Math.round(most)} MB, p99 ${alone} ms alone, ${beside} ms beside\n`);
    expectGrowth(most, 300);
    expectGrowth(beside / alone, 1.5, 'p99 with silent clients, in p99 without');
  },
  300_000,
);
