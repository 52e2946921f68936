import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { expect, onTestFinished } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { until } from '../../test/until.ts';
import { UnsentBytes, type UnsentLimits } from './unsent-bytes.ts';

const MB = 1_000_000;
const LIMITS: UnsentLimits = {
  connectionBytes: 50 * MB,
  callerBytes: 50 * MB,
  totalBytes: 50 * MB,
  timeoutMs: 10_000,
};

/** A client that reads nothing until its socket is resumed, and the gateway's socket to it. */
async function clientPair() {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1').pause();
  const [socket] = (await once(server, 'connection')) as [Socket];
  for (const end of [client, socket]) end.on('error', () => {});
  onTestFinished(() => {
    for (const end of [client, socket]) end.destroy();
    server.close();
  });
  return { client, socket };
}

/** Reads at least this many bytes, more than the buffers of the system have, and no further. */
async function readBytes(client: Socket, bytes: number): Promise<void> {
  let received = 0;
  client.on('data', (chunk) => {
    received += chunk.length;
    if (received >= bytes) client.pause();
  });
  client.resume();
  await until('the bytes are read', () => received >= bytes);
}

function counting(limits: Partial<UnsentLimits> = {}) {
  const lines: string[] = [];
  let check: (() => void) | undefined;
  const unsent = new UnsentBytes({
    limits: { ...LIMITS, ...limits },
    report: (line) => lines.push(line),
    timer(_delayMs, callback) {
      check = callback;
      return () => {
        if (check === callback) check = undefined;
      };
    },
  });
  function write(socket: Socket, bytes: number, callerId = 'key:one'): void {
    socket.write('x'.repeat(bytes));
    unsent.count(socket, callerId);
  }
  const checks = (count: number) => {
    for (let at = 0; at < count; at++) check?.();
  };
  return { unsent, lines, write, checks, isChecking: () => check !== undefined };
}

verifies('F6', 'closes a connection with more unread bytes than one may have, and releases them', async () => {
  const { unsent, lines, write, isChecking } = counting({ connectionBytes: 25 * MB });
  const { socket } = await clientPair();
  write(socket, 20 * MB);
  expect([unsent.total, socket.destroyed]).toEqual([20 * MB, false]);
  write(socket, 10 * MB);
  expect([unsent.total, socket.destroyed, isChecking()]).toEqual([0, true, false]);
  expect(lines).toEqual([
    'Closed a connection of key:one with 30000000 unread bytes: gateway.unsent.connectionBytes allows 25000000 for one connection.',
  ]);
});

verifies('F6', 'sends a first message over the limit of its connection to a client that reads it', async () => {
  const { unsent, lines, write, checks, isChecking } = counting({ connectionBytes: 5 * MB });
  const { client, socket } = await clientPair();
  write(socket, 20 * MB);
  write(socket, 1);
  await readBytes(client, 20 * MB + 1);
  checks(1);
  expect([unsent.total, isChecking(), lines]).toEqual([0, false, []]);
});

verifies('F6', 'closes the connection of a caller that took no byte for the longest time', async () => {
  const { lines, write } = counting({ callerBytes: 30 * MB, totalBytes: 100 * MB });
  const [reading, idle, last] = [await clientPair(), await clientPair(), await clientPair()];
  write(reading.socket, 20 * MB);
  write(idle.socket, 20 * MB);
  await readBytes(reading.client, 10 * MB);
  write(last.socket, 20 * MB);
  expect([reading, idle, last].map(({ socket }) => socket.destroyed)).toEqual([false, true, false]);
  expect(lines).toEqual([expect.stringContaining('gateway.unsent.callerBytes allows 30000000 for one caller.')]);
});

verifies(
  'F6',
  'closes the connections of a caller over its limit that are not read, and none that is read',
  async () => {
    const { lines, write, checks } = counting({ callerBytes: 30 * MB, totalBytes: 100 * MB });
    const [reading, idle] = [await clientPair(), await clientPair()];
    write(reading.socket, 20 * MB);
    write(idle.socket, 20 * MB);
    checks(1);
    expect([reading, idle].map(({ socket }) => socket.destroyed)).toEqual([false, false]);
    await readBytes(reading.client, 5 * MB);
    checks(1);
    expect([reading, idle].map(({ socket }) => socket.destroyed)).toEqual([false, true]);
    checks(2);
    expect([reading.socket.destroyed, lines.length]).toEqual([false, 1]);
  },
);

verifies('F6', 'counts unread bytes for their caller after a refused request on the same connection', async () => {
  const { unsent, lines, write, checks } = counting({ callerBytes: 15 * MB });
  const { socket } = await clientPair();
  write(socket, 20 * MB);
  unsent.count(socket, undefined);
  checks(2);
  expect(lines).toEqual([expect.stringContaining('Closed a connection of key:one')]);
});

verifies('F6', 'closes a connection of the caller with the most unread bytes when all have too many', async () => {
  const { lines, write } = counting({ totalBytes: 45 * MB });
  const [other, first, second] = [await clientPair(), await clientPair(), await clientPair()];
  write(other.socket, 10 * MB, 'key:other');
  write(first.socket, 20 * MB);
  write(second.socket, 20 * MB);
  expect([other, first, second].map(({ socket }) => socket.destroyed)).toEqual([false, true, false]);
  expect(lines).toEqual([expect.stringContaining('gateway.unsent.totalBytes allows 45000000 in all.')]);
});

verifies('F6', 'closes a connection from which no byte is taken in time, and none that is read', async () => {
  const { lines, write, checks } = counting();
  const [reading, idle] = [await clientPair(), await clientPair()];
  write(idle.socket, 20 * MB);
  write(reading.socket, 20 * MB, 'key:other');
  checks(10);
  expect(idle.socket.destroyed).toBe(false);
  await readBytes(reading.client, 10 * MB);
  checks(1);
  expect([idle.socket.destroyed, reading.socket.destroyed]).toEqual([true, false]);
  expect(lines).toEqual([expect.stringMatching(/of key:one .*: it took no byte for 10000 ms/)]);
});

verifies('F6', 'counts bytes that wait for an earlier response, without a time limit', async () => {
  const { unsent, lines, checks } = counting({ callerBytes: 15 * MB });
  const { socket } = await clientPair();
  unsent.count(socket, 'key:one', 20 * MB);
  checks(20);
  expect([unsent.total, socket.destroyed]).toEqual([20 * MB, false]);
  unsent.count(socket, 'key:one', -20 * MB);
  expect(unsent.total).toBe(0);
  unsent.count(socket, 'key:one', 31 * MB);
  expect([socket.destroyed, lines.length]).toEqual([true, 1]);
});

verifies('F6', 'counts a shared connection for the caller of its last response', async () => {
  const { lines, write } = counting({ callerBytes: 30 * MB });
  const [shared, own] = [await clientPair(), await clientPair()];
  write(shared.socket, 20 * MB, 'key:one');
  write(shared.socket, 1, 'key:other');
  write(own.socket, 20 * MB, 'key:one');
  expect(lines).toEqual([]);
});
