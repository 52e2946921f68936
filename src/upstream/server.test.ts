import { getEventListeners } from 'node:events';
import { afterEach, expect, it, vi } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { until } from '../../test/until.ts';
import type { JsonObject } from '../core/call.ts';
import { HeddleError, UpstreamError } from '../core/errors.ts';
import type { ServerStatus } from '../core/server-status.ts';
import { connectInMemory } from './connect-in-memory.ts';
import type { Connect, ConnectOptions } from './connection.ts';
import { never, type TinyServer, tinyServer } from './fixtures.ts';
import { Server, type ServerOptions } from './server.ts';

const signal = new AbortController().signal;
const open: Server[] = [];
afterEach(async () => {
  vi.restoreAllMocks();
  await Promise.all(open.splice(0).map((server) => server.close()));
});

/** A server whose connects are counted, over the tiny server or whatever `connect` is given. */
function serverOf(tiny: TinyServer, { connect, ...more }: Partial<ServerOptions> & { connect?: Connect } = {}) {
  const asked: ConnectOptions[] = [];
  const states: ServerStatus['state'][] = [];
  const listed: (readonly JsonObject[])[] = [];
  const reach = connect ?? connectInMemory(tiny.serve);
  const server = new Server({
    plan: {
      name: 'demo',
      scope: 'project',
      transport: 'stdio',
      sandbox: 'none',
      signature: 'sig',
      revision: '1',
      local: true,
      autoConnect: false,
      retryAfterMs: 5000,
      connect: (options) => {
        asked.push(options);
        return reach(options);
      },
    },
    known: undefined,
    limited: (task) => task(),
    clock: Date.now,
    onStatus: ({ state }) => states.push(state),
    onTools: (tools) => listed.push(tools),
    ...more,
  });
  open.push(server);
  return { server, asked, states, listed };
}

const twoTools = () => ({ tools: [{ name: 'a' }, { name: 'b' }] });
const refused = new UpstreamError('UPSTREAM_UNREACHABLE', 'demo cannot be reached.', {
  delivered: 'no',
  fix: 'Plug it.',
});

verifies('T2', 'tells what it knows of itself before, while and after it connects', async () => {
  const { server, asked, states, listed } = serverOf(tinyServer({ 'tools/list': twoTools }));
  const plain = { name: 'demo', scope: 'project', transport: 'stdio', sandbox: 'none' };
  expect(server.status).toEqual({ ...plain, state: 'pending', attempt: [0, 1], health: 'unknown' });
  expect(asked).toEqual([]);
  const connecting = server.connect(signal);
  expect(server.status).toMatchObject({ state: 'pending', attempt: [1, 1] });
  await connecting;
  expect(server.status).toMatchObject({
    ...plain,
    state: 'connected',
    health: 'ok',
    tools: 2,
    info: { era: 'legacy', protocolVersion: '2025-06-18', serverInfo: { name: 'tiny' }, capabilities: { tools: {} } },
  });
  expect(server.status.info?.connectMs).toBeTypeOf('number');
  expect([states, listed.length]).toEqual([['pending', 'connected'], 1]);
});

for (const [error, state] of [
  [refused, 'failed'],
  [new UpstreamError('AUTH_NEEDED', 'demo wants a credential.', { delivered: 'no', fix: 'Sign in.' }), 'needs-auth'],
] as const) {
  verifies('T2', `is ${state} with the reason and the fix when ${error.code} stops it`, async () => {
    const { server } = serverOf(tinyServer(), { connect: () => Promise.reject(error) });
    await expect(server.connect(signal)).rejects.toBe(error);
    expect(server.status).toMatchObject({ state, reason: error.message, fix: error.fix, attempt: [1, 1] });
  });
}

for (const [error, state] of [
  [new HeddleError('SERVER_DISABLED', 'demo is disabled.'), 'disabled'],
  [new HeddleError('CONFIG_INVALID', 'It is broken.', { fix: 'Mend it.' }), 'failed'],
] as const) {
  verifies('T2', `is ${state} from the start when its plan says ${error.code}`, async () => {
    const { plan } = serverOf(tinyServer()).server;
    const { server, states } = serverOf(tinyServer(), { plan: { ...plan, connect: error } });
    expect(server.status).toMatchObject({ state, reason: error.message, fix: error.fix, attempt: [0, 1] });
    await expect(server.connect(signal)).rejects.toBe(error);
    expect(states).toEqual([]);
  });
}

verifies('T3', 'shares one attempt among all who wait; an abort ends a wait, not the attempt', async () => {
  const list = Promise.withResolvers<JsonObject>();
  const { server, asked } = serverOf(tinyServer({ 'tools/list': () => list.promise }));
  const abort = new AbortController();
  const [gone, ...others] = [server.connect(abort.signal), server.connect(signal), server.connect(signal)];
  abort.abort();
  await expect(gone).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
  list.resolve(twoTools());
  const [one, other] = await Promise.all(others);
  expect(one).toBe(other);
  await expect(server.connect(signal)).resolves.toBe(one);
  expect(asked).toHaveLength(1);
  expect(getEventListeners(abort.signal, 'abort')).toHaveLength(0);
});

it('starts nothing for a caller who has gone already, nor after it was closed', async () => {
  const { server, asked } = serverOf(tinyServer());
  await expect(server.connect(AbortSignal.abort())).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
  await server.close();
  await expect(server.connect(signal)).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
  expect(asked).toEqual([]);
});

it('starts nothing when it was closed while it waited for its place', async () => {
  const place = Promise.withResolvers<void>();
  const { server, asked } = serverOf(tinyServer(), { limited: (task) => place.promise.then(task) });
  const failed = expect(server.connect(signal)).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
  const closing = server.close();
  place.resolve();
  await Promise.all([failed, closing]);
  expect(asked).toEqual([]);
});

verifies('T5', 'tries a failed server again only after the delay', async () => {
  let now = 1000;
  const tiny = tinyServer();
  const attempts: Connect[] = [() => Promise.reject(refused), connectInMemory(tiny.serve)];
  const connect: Connect = (options) => (attempts.shift() as Connect)(options);
  const { server, asked } = serverOf(tiny, { connect, clock: () => now });
  await expect(server.connect(signal)).rejects.toBe(refused);
  now += 4999;
  await expect(server.connect(signal)).rejects.toBe(refused);
  expect(asked).toHaveLength(1);
  now += 1;
  await expect(server.connect(signal)).resolves.toBeDefined();
  expect(server.status).toMatchObject({ state: 'connected' });
  expect(server.status.reason).toBeUndefined();
});

verifies('T5', 'is pending when its line drops, and the next call opens a new one', async () => {
  const tiny = tinyServer({ 'tools/list': twoTools });
  const { server, asked } = serverOf(tiny);
  const first = await server.connect(signal);
  await tiny.lines[0]?.close();
  await until('it has noticed', () => server.status.state === 'pending');
  expect(server.status).toMatchObject({ reason: 'its line dropped', tools: 2, attempt: [0, 1] });
  expect(server.connection).toBeUndefined();
  const second = await server.connect(signal);
  expect(second).not.toBe(first);
  expect(asked).toHaveLength(2);
});

verifies('T11', 'asks for the era once: the next line opens with what the first has learnt', async () => {
  const tiny = tinyServer();
  const { server, asked } = serverOf(tiny);
  await server.connect(signal);
  await tiny.lines[0]?.close();
  await until('it has noticed', () => server.connection === undefined);
  await server.connect(signal);
  expect(asked.map(({ known }) => known)).toEqual([undefined, 'legacy']);
  expect(tiny.asked.filter((method) => method === 'server/discover')).toHaveLength(1);
});

verifies('T8', 'turns a storm of changes into one refresh', async () => {
  let names = ['a'];
  const tiny = tinyServer({ 'tools/list': () => ({ tools: names.map((name) => ({ name })) }) });
  const { server, listed } = serverOf(tiny);
  await server.connect(signal);
  names = ['a', 'b', 'c'];
  for (let n = 0; n < 1000; n++) await tiny.lines[0]?.notify('notifications/tools/list_changed');
  await until('it has refreshed', () => listed.length > 1);
  expect(server.status).toMatchObject({ state: 'connected', tools: 3, info: { era: 'legacy' } });
  expect(tiny.asked.filter((method) => method === 'tools/list')).toHaveLength(2);
});

verifies('T8', 'still refreshes after a line dropped while a refresh was due', async () => {
  const tiny = tinyServer({ 'tools/list': twoTools });
  const { server, listed } = serverOf(tiny);
  await server.connect(signal);
  await tiny.lines[0]?.notify('notifications/tools/list_changed');
  await tiny.lines[0]?.close();
  await until('it has noticed', () => server.connection === undefined);
  await server.connect(signal);
  await tiny.lines[1]?.notify('notifications/tools/list_changed');
  await until('it has refreshed', () => listed.length === 3, 2000);
});

it('keeps the old list when a refresh fails', async () => {
  let refuse = false;
  const tiny = tinyServer({ 'tools/list': () => (refuse ? Promise.reject(new Error('no')) : twoTools()) });
  const { server, listed } = serverOf(tiny);
  await server.connect(signal);
  refuse = true;
  await tiny.lines[0]?.notify('notifications/tools/list_changed');
  await until('it has asked', () => tiny.asked.filter((method) => method === 'tools/list').length === 2);
  await new Promise(setImmediate);
  expect([server.status.state, server.status.tools, listed.length]).toEqual(['connected', 2, 1]);
});

verifies('T3', 'closes the line when the tools cannot be listed', async () => {
  const tiny = tinyServer({ 'tools/list': () => Promise.reject(new Error('no')) });
  const { server } = serverOf(tiny);
  await expect(server.connect(signal)).rejects.toMatchObject({ code: 'UPSTREAM_REFUSED' });
  await tiny.lines[0]?.closed;
  expect(server.status).toMatchObject({ state: 'failed', reason: 'The request could not be handled.' });
});

verifies('T3', 'says that it was too slow when the whole connect takes too long', async () => {
  const deadline = new AbortController();
  vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => {
    return ms === 30_000 ? deadline.signal : new AbortController().signal;
  });
  const { server } = serverOf(tinyServer({ 'tools/list': never }));
  const connecting = server.connect(signal);
  setImmediate(() => deadline.abort());
  await expect(connecting).rejects.toMatchObject({ code: 'UPSTREAM_TIMEOUT', delivered: 'no' });
  expect(server.status).toMatchObject({ state: 'failed', reason: 'demo was not ready within 30000 ms.' });
});

it('leaves nothing open when it is closed while it connects', async () => {
  const tiny = tinyServer({ initialize: never });
  const { server } = serverOf(tiny);
  const connecting = server.connect(signal);
  await until('it is being asked', () => tiny.asked.includes('initialize'));
  const failed = expect(connecting).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
  const order: string[] = [];
  const lineClosed = tiny.lines[0]?.closed.then(() => order.push('line'));
  await server.close().then(() => order.push('server'));
  await Promise.all([failed, lineClosed]);
  expect(order).toEqual(['line', 'server']);
  expect(server.connection).toBeUndefined();
});
