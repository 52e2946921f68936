import { expect, onTestFinished } from 'vitest';
import type { StdioEntry } from '../../src/config/schema/schema.ts';
import { UpstreamError } from '../../src/core/errors.ts';
import { openWatchdog } from '../../src/process/watchdog.ts';
import type { Connect } from '../../src/upstream/connection.ts';
import { entryOf, serverOf, tinyServer } from '../../src/upstream/fixtures.ts';
import { connectInMemory } from '../../src/upstream/transports/connect-in-memory.ts';
import { connectStdio } from '../../src/upstream/transports/connect-stdio.ts';
import { verifies } from '../requirements.ts';
import { until } from '../until.ts';

const signal = new AbortController().signal;
const twoTools = () => ({ tools: [{ name: 'a' }, { name: 'b' }] });
const refused = new UpstreamError('UPSTREAM_UNREACHABLE', 'demo cannot be reached.', { delivered: 'no' });
const wantsAuth = new UpstreamError('AUTH_NEEDED', 'demo wants a credential.', { delivered: 'no' });
const fails: Connect = () => Promise.reject(refused);

/** Uses one connect function after the other, and the last one for all further connects. */
const inTurn =
  (...ways: Connect[]): Connect =>
  (options) =>
    ((ways.length > 1 ? ways.shift() : ways[0]) as Connect)(options);

verifies('T5', 'reconnects a dropped connection with growing delays, and reports each attempt', async () => {
  const tiny = tinyServer({ 'tools/list': twoTools });
  const { server, attempts, events, time } = serverOf(tiny, { connect: inTurn(connectInMemory(tiny.serve), fails) });
  const before = await server.connect(signal);
  time.pass(40_000);
  events.length = 0;
  const now = time.clock();
  await tiny.transports[0]?.close();
  await until('it has noticed', () => server.connection === undefined);
  const dropped = { reason: 'The connection to demo dropped.', tools: 2 };
  expect(server.status).toMatchObject({ state: 'pending', attempt: [1, 3], retryAt: now + 5000, ...dropped });
  expect(server.connection).not.toBe(before);
  time.pass(4999);
  expect(attempts).toHaveLength(1);
  time.pass(1);
  await until('it was refused', () => server.status.attempt[0] === 2);
  expect(server.status).toMatchObject({ state: 'pending', retryAt: now + 15_000, reason: refused.message });
  time.pass(10_000);
  await until('it was refused again', () => server.status.attempt[0] === 3);
  expect(server.status.retryAt).toBe(now + 30_000);
  time.pass(15_000);
  await until('it has given up', () => server.status.state === 'failed');
  expect(server.status).toMatchObject({ attempt: [3, 3], reason: refused.message, tools: 2 });
  expect(events).toEqual(['disconnected', ...Array(6).fill('pending'), 'failed']);
  time.pass(1_000_000);
  expect([attempts.length, time.timers()]).toEqual([4, 0]);
});

verifies('T5', 'is connected again when the server is reachable', async () => {
  const tiny = tinyServer({ 'tools/list': twoTools });
  const { server, time, events } = serverOf(tiny);
  await server.connect(signal);
  await tiny.transports[0]?.close();
  await until('it has noticed', () => server.connection === undefined);
  time.pass(5000);
  await until('it is back', () => server.status.state === 'connected');
  expect(server.status).toMatchObject({ attempt: [1, 3], health: 'ok' });
  expect(server.status.reason).toBeUndefined();
  expect(events.slice(-3)).toEqual(['pending', 'pending', 'connected']);
});

verifies('T5', 'connects at once for a call, and shares that attempt among all calls', async () => {
  const tiny = tinyServer();
  const { server, attempts, time } = serverOf(tiny);
  await server.connect(signal);
  await tiny.transports[0]?.close();
  await until('it has noticed', () => server.connection === undefined);
  const [one, other] = await Promise.all([server.connect(signal), server.connect(signal)]);
  expect(one).toBe(other);
  time.pass(20_000);
  expect([attempts.length, server.connection]).toEqual([2, one]);
});

verifies('T5', 'reconnects a failed server only for a call after delayMs', async () => {
  const tiny = tinyServer();
  const { server, attempts, time } = serverOf(tiny, { connect: inTurn(fails, connectInMemory(tiny.serve)) });
  await expect(server.connect(signal)).rejects.toBe(refused);
  time.pass(4999);
  await expect(server.connect(signal)).rejects.toBe(refused);
  time.pass(1);
  expect(attempts).toHaveLength(1);
  await expect(server.connect(signal)).resolves.toBeDefined();
  expect(server.status).toMatchObject({ state: 'connected' });
  expect(server.status.reason).toBeUndefined();
});

verifies('T5', 'retries the first connect with autoConnect, and rejects waiting calls at once', async () => {
  const tiny = tinyServer();
  const connect = inTurn(fails, connectInMemory(tiny.serve));
  const { server, time } = serverOf(tiny, { connect, plan: { autoConnect: true } });
  await expect(server.connect(signal)).rejects.toBe(refused);
  expect(server.status).toMatchObject({ state: 'pending', attempt: [2, 3], reason: refused.message });
  time.pass(10_000);
  await until('it is connected', () => server.status.state === 'connected');
});

verifies('T5', 'does not retry a server that needs a credential', async () => {
  const tiny = tinyServer();
  const connect = inTurn(connectInMemory(tiny.serve), () => Promise.reject(wantsAuth));
  const { server, attempts, time } = serverOf(tiny, { connect });
  await server.connect(signal);
  await tiny.transports[0]?.close();
  await until('it has noticed', () => server.connection === undefined);
  time.pass(5000);
  await until('it says so', () => server.status.state === 'needs-auth');
  time.pass(1_000_000);
  expect([attempts.length, time.timers()]).toEqual([2, 0]);
});

verifies('T5', 'leaves no timer when it is closed while it waits for the next attempt', async () => {
  const tiny = tinyServer();
  const { server, attempts, time, events } = serverOf(tiny);
  await server.connect(signal);
  await tiny.transports[0]?.close();
  await until('it has noticed', () => server.connection === undefined);
  expect(time.timers()).toBe(1);
  await server.close();
  expect([attempts.length, time.timers(), events.at(-1)]).toEqual([1, 0, 'closed']);
});

/** A stdio server that answers every request, and ends with code 9 after the notification `crash`. */
const CRASHES = `
  require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method } = JSON.parse(line);
    const hello = { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 'x', version: '1' } };
    if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, result: hello }));
    if (method === 'crash') process.stderr.write('Error: license expired\\n', () => process.exit(9));
  });
`;

verifies('T2', 'reports how a server ended between two calls, and what it printed', async () => {
  const watchdog = openWatchdog();
  onTestFinished(() => watchdog.close());
  const entry = entryOf<StdioEntry>({ command: process.execPath, args: ['-e', CRASHES] });
  const { server } = serverOf(tinyServer(), { connect: connectStdio(entry, watchdog) });
  const connection = await server.connect(signal);
  await connection.notify('crash', {}, signal);
  await until('it has noticed', () => server.connection === undefined);
  expect(server.status).toMatchObject({
    reason: 'The connection to demo dropped: it exited with code 9. Its stderr: Error: license expired',
    fix: 'Correct what its stderr names.',
  });
});

verifies('T2', 'reports why a remote connection closed', async () => {
  const tiny = tinyServer();
  const connect: Connect = async (options) => {
    const connection = await connectInMemory(tiny.serve)(options);
    return { ...connection, stderrTail: () => 'It ended its stream.' };
  };
  const { server } = serverOf(tiny, { connect });
  await server.connect(signal);
  await tiny.transports[0]?.close();
  await until('it has noticed', () => server.connection === undefined);
  expect(server.status).toMatchObject({
    reason: 'The connection to demo dropped. It ended its stream.',
    fix: 'Run `heddle doctor demo` to see why.',
  });
});
