import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { until } from '../../../test/until.ts';
import type { JsonObject } from '../../core/call.ts';
import { HeddleError, UpstreamError } from '../../core/errors.ts';
import { HELLO, never, serverOf, tinyServer } from '../fixtures.ts';

const signal = new AbortController().signal;
const twoTools = () => ({ tools: [{ name: 'a' }, { name: 'b' }] });
const refused = new UpstreamError('UPSTREAM_UNREACHABLE', 'demo cannot be reached.', {
  delivered: 'no',
  fix: 'Plug it.',
});
const wantsAuth = new UpstreamError('AUTH_NEEDED', 'demo wants a credential.', { delivered: 'no', fix: 'Sign in.' });
verifies('T2', 'reports its status before, during and after the connect', async () => {
  const { server, attempts, events, lists } = serverOf(tinyServer({ 'tools/list': twoTools }));
  const plain = { name: 'demo', scope: 'project', transport: 'stdio', sandbox: 'none' };
  expect(server.status).toEqual({ ...plain, state: 'pending', attempt: [0, 1], health: 'unknown' });
  expect(attempts).toEqual([]);
  const connecting = server.connect(signal);
  expect(server.status).toMatchObject({ state: 'pending', attempt: [1, 1] });
  await connecting;
  expect(server.status).toMatchObject({
    ...plain,
    state: 'connected',
    health: 'ok',
    tools: 2,
    prompts: 0,
    info: { era: 'legacy', protocolVersion: '2025-06-18', serverInfo: { name: 'tiny' }, capabilities: { tools: {} } },
  });
  expect(server.status.info?.connectMs).toBeTypeOf('number');
  expect([events, lists.length]).toEqual([['pending', 'list-changed', 'connected'], 4]);
});

for (const [error, state] of [
  [refused, 'failed'],
  [wantsAuth, 'needs-auth'],
] as const) {
  verifies('T2', `is ${state} with reason and fix after ${error.code}`, async () => {
    const { server, events } = serverOf(tinyServer(), { connect: () => Promise.reject(error) });
    await expect(server.connect(signal)).rejects.toBe(error);
    expect(server.status).toMatchObject({ state, reason: error.message, fix: error.fix, attempt: [1, 1] });
    expect(events).toEqual(['pending', state]);
  });
}

for (const [error, state] of [
  [new HeddleError('SERVER_DISABLED', 'demo is disabled.'), 'disabled'],
  [new HeddleError('CONFIG_INVALID', 'It is broken.', { fix: 'Mend it.' }), 'failed'],
] as const) {
  verifies('T2', `is ${state} from the start when its plan has ${error.code}`, async () => {
    const { server, events, time } = serverOf(tinyServer(), { plan: { connect: error } });
    expect(server.status).toMatchObject({ state, reason: error.message, fix: error.fix, attempt: [0, 1] });
    time.pass(1_000_000);
    await expect(server.connect(signal)).rejects.toBe(error);
    expect(events).toEqual([]);
  });
}

verifies('T3', 'shares one attempt among all callers; an abort ends the wait, not the attempt', async () => {
  const list = Promise.withResolvers<JsonObject>();
  const { server, attempts } = serverOf(tinyServer({ 'tools/list': () => list.promise }));
  const abort = new AbortController();
  const [gone, ...others] = [server.connect(abort.signal), server.connect(signal), server.connect(signal)];
  abort.abort();
  await expect(gone).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
  list.resolve(twoTools());
  const [one, other] = await Promise.all(others);
  expect(one).toBe(other);
  await expect(server.connect(signal)).resolves.toBe(one);
  expect(attempts).toHaveLength(1);
  expect(getEventListeners(abort.signal, 'abort')).toHaveLength(0);
});

it('starts nothing for an aborted caller, nor after close', async () => {
  const { server, attempts } = serverOf(tinyServer());
  await expect(server.connect(AbortSignal.abort())).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
  await server.close();
  await expect(server.connect(signal)).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
  expect(attempts).toEqual([]);
});

it('starts nothing when it was closed while it waited for its turn', async () => {
  const place = Promise.withResolvers<void>();
  const { server, attempts, time } = serverOf(tinyServer(), { limited: (task) => place.promise.then(task) });
  const failed = expect(server.connect(signal)).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
  const closing = server.close();
  place.resolve();
  await Promise.all([failed, closing]);
  expect([attempts, time.timers()]).toEqual([[], 0]);
});

verifies('T3', 'closes the connection when the tools cannot be listed', async () => {
  const tiny = tinyServer({ 'tools/list': () => Promise.reject(new Error('no')) });
  const { server } = serverOf(tiny);
  await expect(server.connect(signal)).rejects.toMatchObject({ code: 'UPSTREAM_REFUSED' });
  await tiny.transports[0]?.closed;
  const reason = 'demo answered with an error: The request could not be handled.';
  expect(server.status).toMatchObject({ state: 'failed', reason });
});

verifies('T3', 'throws UPSTREAM_TIMEOUT when the whole connect takes too long', async () => {
  const tiny = tinyServer({ 'tools/list': never });
  const { server, time } = serverOf(tiny);
  const connecting = server.connect(signal);
  await until('the request has arrived', () => tiny.requests.includes('tools/list'));
  time.pass(45_000);
  await expect(connecting).rejects.toMatchObject({ code: 'UPSTREAM_TIMEOUT', delivered: 'no' });
  expect(server.status).toMatchObject({
    state: 'failed',
    reason: 'demo was not ready within 45000 ms.',
    fix: expect.stringContaining('`connectTimeoutMs` of demo'),
  });
  expect(time.timers()).toBe(0);
});

it('closes the connection when it is closed during the connect', async () => {
  const tiny = tinyServer({ initialize: never });
  const { server, time } = serverOf(tiny);
  const connecting = server.connect(signal);
  await until('the request has arrived', () => tiny.requests.includes('initialize'));
  const failed = expect(connecting).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
  const order: string[] = [];
  const transportClosed = tiny.transports[0]?.closed.then(() => order.push('transport'));
  await server.close().then(() => order.push('server'));
  await Promise.all([failed, transportClosed]);
  expect(order).toEqual(['transport', 'server']);
  expect([server.connection, time.timers()]).toEqual([undefined, 0]);
});

verifies('T2', 'connects again after a disconnect only when it is needed', async () => {
  const tiny = tinyServer();
  const { server, attempts, time, events } = serverOf(tiny);
  await server.connect(signal);
  await server.disconnect();
  expect(server.status).toMatchObject({ state: 'pending', attempt: [0, 1], health: 'unknown' });
  expect(server.status).not.toHaveProperty('info');
  expect(events.slice(-2)).toEqual(['disconnected', 'pending']);
  time.pass(1_000_000);
  expect(attempts).toHaveLength(1);
  await server.connect(signal);
  expect(attempts).toHaveLength(2);
});

it('ends a running attempt on disconnect', async () => {
  const tiny = tinyServer({ initialize: never });
  const { server, time } = serverOf(tiny);
  const failed = expect(server.connect(signal)).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
  await until('the request has arrived', () => tiny.requests.includes('initialize'));
  await server.disconnect();
  await failed;
  expect(server.status).toMatchObject({ state: 'pending', attempt: [0, 1] });
  expect(time.timers()).toBe(0);
});

verifies('T11', 'probes the era once, and connects the next time with the cached era', async () => {
  const tiny = tinyServer();
  const { server, attempts } = serverOf(tiny);
  await server.connect(signal);
  await server.disconnect();
  await server.connect(signal);
  expect(attempts.map(({ known }) => known)).toEqual([undefined, 'legacy']);
  expect(tiny.requests.filter((method) => method === 'server/discover')).toHaveLength(1);
});

const lists = { tools: [], resources: [], templates: [], prompts: [] };
const DAY_MS = 24 * 60 * 60 * 1000;

verifies('T11', 'uses a cached era for 30 days, and keeps its date', async () => {
  const cached = { server: 'demo', capabilitySet: 0, signature: 'sig', era: 'legacy', lists, at: 0 } as const;
  const { server, attempts, saved, time } = serverOf(tinyServer(), { saved: [cached], start: 30 * DAY_MS - 1 });
  await server.connect(signal);
  await server.disconnect();
  time.pass(1);
  await server.connect(signal);
  expect(attempts.map(({ known }) => known)).toEqual(['legacy', undefined]);
  expect(saved.map(({ at }) => at)).toEqual([0, 30 * DAY_MS]);
});

verifies('T11', 'probes the era again when a connect with the cached era timed out', async () => {
  const cached = { server: 'demo', capabilitySet: 0, signature: 'sig', era: 'modern', lists, at: 0 } as const;
  const late = new UpstreamError('UPSTREAM_TIMEOUT', 'Nothing came.', { delivered: 'no' });
  const { server, attempts, time } = serverOf(tinyServer(), { saved: [cached], connect: () => Promise.reject(late) });
  await expect(server.connect(signal)).rejects.toBe(late);
  time.pass(5000);
  await expect(server.connect(signal)).rejects.toBe(late);
  expect(attempts.map(({ known }) => known)).toEqual(['modern', undefined]);
});

const all = { ...HELLO, capabilities: { tools: {}, resources: {}, prompts: {} } };
const everything = {
  initialize: () => all,
  'tools/list': twoTools,
  'resources/list': () => ({ resources: [{ uri: 'a:b', name: 'b' }] }),
  'resources/templates/list': () => ({ resourceTemplates: [{ uriTemplate: 'a:{b}', name: 'b' }] }),
  'prompts/list': () => ({ prompts: [{ name: 'p' }, { name: 'q' }] }),
};

verifies('T8', 'fetches and caches all four lists', async () => {
  const { server, saved, lists } = serverOf(tinyServer(everything));
  await server.connect(signal);
  expect(server.status).toMatchObject({ tools: 2, resources: 1, templates: 1, prompts: 2 });
  expect(lists.map(([kind]) => kind).sort()).toEqual(['prompts', 'resources', 'templates', 'tools']);
  expect(saved.at(-1)).toMatchObject({ server: 'demo', era: 'legacy', lists: { prompts: [{ name: 'p' }, {}] } });
});

verifies('T8', 'connects when a list other than the tools fails or never comes, and reports it', async () => {
  const no = () => Promise.reject(new Error('no'));
  const tiny = tinyServer({ ...everything, 'prompts/list': no, 'resources/list': never });
  const { server, time } = serverOf(tiny);
  const connecting = server.connect(signal);
  await until('it has all it will get', () => server.status.templates === 1 && server.status.tools === 2);
  time.pass(500);
  await connecting;
  const reason = 'Its prompts could not be listed: The request could not be handled.';
  expect(server.status).toMatchObject({ state: 'connected', health: 'ok', tools: 2, reason });
  expect(server.status.resources).toBeUndefined();
});
