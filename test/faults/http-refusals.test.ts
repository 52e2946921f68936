import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished } from 'vitest';
import type { HeddleClient } from '../../src/index.ts';
import { verifies } from '../requirements.ts';
import { type FaultyHttp, faultyHttp, refuse } from '../servers/faulty-http.ts';
import { listen } from '../servers/http-servers.ts';
import { selfSigned } from '../servers/self-signed.ts';
import { temporaryHeddleClient } from '../temporary-heddle.ts';

const open = (url: string): Promise<HeddleClient> => temporaryHeddleClient({ servers: { up: { url, trusted: true } } });

async function started(): Promise<FaultyHttp & { readonly heddle: HeddleClient; act(): Promise<unknown> }> {
  const server = await faultyHttp();
  onTestFinished(() => server.close());
  const heddle = await open(server.url);
  const act = (timeoutMs = 60_000) => heddle.call('up.act', {}, { timeoutMs });
  await act();
  return { ...server, heddle, act };
}

const done = { isError: false, value: { content: [{ type: 'text', text: 'done' }] } };
const soon = () => new Date(Date.now() + 1000).toUTCString();

for (const [status, when, retryAfter] of [
  [429, 'seconds', () => '1'],
  [429, 'a date', soon],
  [503, 'seconds', () => '1'],
  [503, 'a date', soon],
] as const) {
  verifies('F4', `repeats a call once after a ${status} with Retry-After as ${when}`, async () => {
    const { act, faults, calls } = await started();
    faults.push((response) => response.writeHead(status, { 'retry-after': retryAfter() }).end());
    await expect(act()).resolves.toMatchObject(done);
    expect(calls()).toBe(3);
  });
}

verifies('F4', 'does not repeat a write after a 503, which a proxy may send once the server has acted', async () => {
  const { heddle, faults, calls } = await started();
  faults.push(refuse(503, { 'retry-after': '0' }));
  await expect(heddle.call('up.write', {})).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
  expect(calls()).toBe(2);
  faults.push(refuse(429, { 'retry-after': '0' }));
  await expect(heddle.call('up.write', {})).resolves.toMatchObject(done);
  expect(calls()).toBe(4);
});

verifies('F4', 'does not repeat a call twice, and reports the Retry-After of the second refusal', async () => {
  const { act, faults, calls } = await started();
  faults.push(refuse(429, { 'retry-after': '0' }), refuse(429, { 'retry-after': '30' }));
  await expect(act()).rejects.toMatchObject({
    code: 'UPSTREAM_FAILED',
    details: { status: 429, retryAfterMs: 30_000 },
  });
  expect(calls()).toBe(3);
});

verifies('F4', 'does not wait for a Retry-After beyond the timeout of the call', async () => {
  const { heddle, faults, calls } = await started();
  faults.push(refuse(503, { 'retry-after': '30' }));
  const failure = { code: 'UPSTREAM_FAILED', details: { status: 503, retryAfterMs: 30_000 } };
  await expect(heddle.call('up.act', {}, { timeoutMs: 10_000 })).rejects.toMatchObject(failure);
  expect(calls()).toBe(2);
});

verifies('F4', 'does not send a call that was cancelled while it waited', async () => {
  const { heddle, act, faults, calls } = await started();
  const abort = new AbortController();
  const refused = Promise.withResolvers<void>();
  faults.push((response) => void response.writeHead(429, { 'retry-after': '1' }).end(() => refused.resolve()));
  const call = heddle.call('up.act', {}, { timeoutMs: 10_000, signal: abort.signal });
  await refused.promise;
  await act(); // Its response was sent after the refusal, so the refusal has arrived.
  abort.abort();
  await expect(call).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
  await act();
  expect(calls()).toBe(4); // The call in `started`, the cancelled one, and these two.
});

verifies('F4', 'does not repeat a call after a 503 without Retry-After', async () => {
  const { act, faults, calls } = await started();
  faults.push(refuse(503));
  await expect(act()).rejects.toMatchObject({ code: 'UPSTREAM_FAILED', details: { status: 503 } });
  expect(calls()).toBe(2);
});

const GONE = '{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}';
for (const [what, body] of [
  ['with -32001', GONE],
  ['without a body', ''],
] as const) {
  verifies('T5', `begins a new session and calls again after a 404 ${what}`, async () => {
    const { act, faults, calls, handshakes } = await started();
    faults.push(refuse(404, { 'content-type': 'application/json' }, body));
    await expect(act()).resolves.toMatchObject(done);
    expect([calls(), handshakes()]).toEqual([3, 2]);
  });
}

verifies('T5', 'begins one new session for all calls that lost the old one', async () => {
  const { act, forget, handshakes } = await started();
  forget();
  const results = await Promise.all(Array.from({ length: 20 }, () => act()));
  for (const result of results) expect(result).toMatchObject(done);
  expect(handshakes()).toBe(2);
});

verifies('T5', 'calls again only once when the new session is lost at once', async () => {
  const { act, faults, calls } = await started();
  faults.push(refuse(404), refuse(404));
  await expect(act()).rejects.toMatchObject({ details: { status: 404, sessionGone: true } });
  expect(calls()).toBe(3);
  await expect(act()).resolves.toMatchObject(done);
});

verifies('F4', 'sends nothing to the target of a redirect', async () => {
  const { act, faults } = await started();
  const { url, requests, close } = await listen((_, response) => response.end('{}'));
  onTestFinished(() => close());
  faults.push(refuse(307, { location: `${url}?token=x` }));
  const message = expect.stringContaining(`points to ${new URL(url).origin} (HTTP 307)`);
  await expect(act()).rejects.toMatchObject({
    code: 'UPSTREAM_FAILED',
    message,
    fix: expect.stringContaining('`url`'),
  });
  expect(requests).toEqual([]);
});

verifies('T1', 'refuses a server with a self-signed certificate and names the problem', async () => {
  let requests = 0;
  const server = createServer(selfSigned(), (_, response) => {
    requests++;
    response.end();
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  onTestFinished(() => void server.close());
  const heddle = await open(`https://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`);
  const status = await heddle.servers.connect('up');
  expect(status).toMatchObject({ state: 'failed', reason: expect.stringContaining('its certificate is self-signed') });
  expect(requests).toBe(0);
});

verifies(
  'F4',
  'fails one call after its 401, keeps the server, and lets the other calls in flight finish',
  async () => {
    const { heddle, act, faults } = await started();
    const answered = Promise.withResolvers<void>();
    faults.push((_, answer) => void answered.promise.then(answer), refuse(401));
    const slow = act();
    await expect(act()).rejects.toMatchObject({ code: 'AUTH_NEEDED' });
    expect((await heddle.servers.list()).find(({ name }) => name === 'up')).toMatchObject({ state: 'connected' });
    answered.resolve();
    await expect(slow).resolves.toMatchObject(done);
  },
);
