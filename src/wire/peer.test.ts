import { getEventListeners } from 'node:events';
import { afterEach, expect, it, vi } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import type { JsonObject } from '../core/call.ts';
import { talk } from './fixtures.ts';
import type { RequestOptions } from './request-options.ts';
import type { SendOptions } from './transport.ts';

const soon: RequestOptions = { deadlineMs: 120_000 };
const ENVELOPE = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' };
const CALLS = process.env.HEDDLE_TEST_SCALE === 'full' ? 100_000 : 10_000;

const ownTime = () => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
afterEach(() => vi.useRealTimers());

it('returns the result exactly as the server wrote it, unknown fields and content included', async () => {
  const { peer, receive } = await talk();
  const answer = peer.request('tools/call', { name: 'scan' }, soon);
  const result = { content: [{ type: 'hologram', depth: 3 }], vendor: { a: [1] } };
  receive({ jsonrpc: '2.0', id: 1, result, extra: true });
  await expect(answer).resolves.toBe(result);
});

it('passes an error of the server on with its code, words and data', async () => {
  const { peer, receive } = await talk();
  const answer = peer.request('tools/call', {}, soon);
  receive({ jsonrpc: '2.0', id: 1, error: { code: -32042, message: 'Sign in first.', data: { url: 'https://x' } } });
  await expect(answer).rejects.toMatchObject({ code: -32042, message: 'Sign in first.', data: { url: 'https://x' } });
  const broken = peer.request('tools/call', {}, soon);
  receive({ jsonrpc: '2.0', id: 2, error: 'no' });
  await expect(broken).rejects.toMatchObject({ name: 'RpcError', code: -32603 });
});

it('fails a request that its line cannot even take, and forgets it', async () => {
  const { peer } = await talk(
    {},
    {
      send() {
        throw new TypeError('Do not know how to serialize a BigInt');
      },
    },
  );
  await expect(peer.request('tools/call', {}, soon)).rejects.toThrow('BigInt');
  await peer.idle();
});

verifies('F3', 'numbers its requests and counts unexpected messages by kind', async () => {
  const { peer, sent, receive } = await talk();
  const answers = [peer.request('a', {}, soon), peer.request('b', {}, soon)];
  expect(sent.map(({ id }) => id)).toEqual([1, 2]);
  for (const id of [2, 1, 1, 7, 0, -1, 1.5, 'x', null]) receive({ jsonrpc: '2.0', id, result: { id } });
  for (const noise of [{ jsonrpc: '2.0', id: 2 }, { id: 2, result: 'text' }, 'noise', null, 7]) receive(noise);
  receive({ jsonrpc: '2.0', id: {}, method: 'ping' });
  await expect(Promise.all(answers)).resolves.toEqual([{ id: 1 }, { id: 2 }]);
  expect(peer.dropped).toEqual({ stale: 2, unknown: 5, malformed: 6 });
});

it('reads a batch as the messages it holds', async () => {
  const { peer, receive } = await talk();
  const answers = [peer.request('a', {}, soon), peer.request('b', {}, soon)];
  receive([{ jsonrpc: '2.0', id: 2, result: { b: 1 } }, 'noise', { jsonrpc: '2.0', id: 1, result: { a: 1 } }]);
  await expect(Promise.all(answers)).resolves.toEqual([{ a: 1 }, { b: 1 }]);
  expect(peer.dropped.malformed).toBe(1);
});

verifies('T6', 'cancels upstream when the deadline passes, and ignores the late answer', async () => {
  ownTime();
  const { peer, sent, receive } = await talk();
  const answer = peer.request('tools/call', {}, { deadlineMs: 50 });
  vi.advanceTimersByTime(49);
  expect(sent).toHaveLength(1);
  vi.advanceTimersByTime(1);
  await expect(answer).rejects.toMatchObject({ code: 'UPSTREAM_TIMEOUT', delivered: 'maybe' });
  expect(sent[1]).toMatchObject({ method: 'notifications/cancelled', params: { requestId: 1 } });
  receive({ jsonrpc: '2.0', id: 1, result: {} });
  expect(peer.dropped.stale).toBe(1);
  expect(vi.getTimerCount()).toBe(0);
});

verifies('T6', 'passes a late response to `onLate` and cancels only without one', async () => {
  ownTime();
  const { peer, sent, receive } = await talk();
  const late: JsonObject[] = [];
  const ask = { deadlineMs: 50, onLate: (result: JsonObject) => void late.push(result) };
  const given = [peer.request('tools/call', {}, ask), peer.request('tools/call', {}, ask)];
  vi.advanceTimersByTime(50);
  for (const answer of given) await expect(answer).rejects.toMatchObject({ code: 'UPSTREAM_TIMEOUT' });
  receive({ jsonrpc: '2.0', id: 1, result: { task: 1 } });
  expect([late, sent.length]).toEqual([[{ task: 1 }], 2]);
  vi.advanceTimersByTime(5000);
  expect(sent.slice(2)).toMatchObject([{ method: 'notifications/cancelled', params: { requestId: 2 } }]);
  receive({ jsonrpc: '2.0', id: 2, result: {} });
  expect([late.length, peer.dropped.stale, vi.getTimerCount()]).toEqual([1, 1, 0]);
  await peer.idle();
});

verifies('T6', 'waits as long as it was told, even when that is longer than a timer can count', async () => {
  ownTime();
  const { peer, receive } = await talk();
  const answer = peer.request('tools/call', {}, { deadlineMs: 3_000_000_000 });
  vi.advanceTimersByTime(60_000);
  receive({ jsonrpc: '2.0', id: 1, result: { patient: true } });
  await expect(answer).resolves.toEqual({ patient: true });
});

verifies('T6', 'lets progress extend the deadline, but not past the longest time', async () => {
  ownTime();
  const { peer, sent, receive } = await talk();
  const seen: unknown[] = [];
  const onProgress = ({ progress }: JsonObject) => void seen.push(progress);
  const ask: RequestOptions = { deadlineMs: 50, longestMs: 120, onProgress };
  const answer = peer.request('tools/call', { _meta: { progressToken: 'theirs' } }, ask);
  expect(sent[0]).toMatchObject({ params: { _meta: { progressToken: 1 } } });
  const failed = expect(answer).rejects.toMatchObject({ code: 'UPSTREAM_TIMEOUT' });
  for (let at = 40; at <= 120; at += 40) {
    vi.advanceTimersByTime(40);
    receive({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: 1, progress: at } });
  }
  await failed;
  expect(seen).toEqual([40, 80]);
  expect(peer.dropped.stale).toBe(1);
});

it('does not let a listener to progress that throws harm the line', async () => {
  const troubles: Error[] = [];
  const { peer, receive } = await talk({ trouble: (error) => troubles.push(error) });
  const onProgress = () => {
    throw new Error('theirs');
  };
  const answer = peer.request('tools/call', {}, { ...soon, onProgress });
  receive({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: 1, progress: 1 } });
  receive({ jsonrpc: '2.0', id: 1, result: { done: true } });
  await expect(answer).resolves.toEqual({ done: true });
  expect(troubles).toMatchObject([{ message: 'theirs' }]);
});

verifies('T6', 'cancels upstream when the caller does', async () => {
  const { peer, sent } = await talk();
  const abort = new AbortController();
  const answer = peer.request('tools/call', {}, { ...soon, signal: abort.signal });
  abort.abort();
  await expect(answer).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
  expect(sent[1]).toMatchObject({ method: 'notifications/cancelled', params: { requestId: 1 } });
  await expect(peer.request('tools/call', {}, { ...soon, signal: abort.signal })).rejects.toThrow(/cancelled/);
  expect(sent).toHaveLength(2);
});

it('never cancels initialize: the protocol forbids it', async () => {
  const { peer, sent } = await talk();
  const abort = new AbortController();
  const answer = peer.request('initialize', {}, { ...soon, signal: abort.signal });
  abort.abort();
  await expect(answer).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
  expect(sent.map(({ method }) => method)).toEqual(['initialize']);
});

verifies('T6', 'closes the stream instead of sending a notification when the line is modern HTTP', async () => {
  const abandon = vi.fn();
  const { peer, sent } = await talk({}, { hasPerRequestStream: true, abandon });
  peer.speakModern(ENVELOPE);
  const abort = new AbortController();
  const answer = peer.request('tools/call', {}, { ...soon, signal: abort.signal });
  abort.abort();
  await expect(answer).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
  expect(abandon).toHaveBeenCalledWith(1);
  expect(sent).toHaveLength(1);
});

it('puts its own envelope over the one of the caller', async () => {
  const { peer, sent } = await talk();
  peer.speakModern(ENVELOPE);
  const theirs = { 'io.modelcontextprotocol/protocolVersion': 'forged', traceparent: '00-1' };
  const answer = peer.request('tools/call', { name: 'x', _meta: theirs }, soon);
  expect(sent[0]?.params).toEqual({ name: 'x', _meta: { ...ENVELOPE, traceparent: '00-1' } });
  await peer.close();
  await expect(answer).rejects.toThrow();
});

verifies(
  'T5',
  'fails every pending request when the transport closes, and marks later ones as not delivered',
  async () => {
    const { peer } = await talk();
    const lost = { code: 'UPSTREAM_FAILED', delivered: 'maybe' };
    const failed = [peer.request('a', {}, soon), peer.request('b', {}, soon)].map((answer) =>
      expect(answer).rejects.toMatchObject(lost),
    );
    await peer.close();
    await Promise.all([...failed, peer.closed]);
    await expect(peer.request('c', {}, soon)).rejects.toMatchObject({ code: 'UPSTREAM_FAILED', delivered: 'no' });
  },
);

it('fails a request alone when it cannot be sent, or when its own stream ends', async () => {
  const ends: (() => void)[] = [];
  const send = async ({ method }: JsonObject, options?: SendOptions) => {
    if (method === 'unsendable') throw new Error('no way');
    if (options?.onRequestStreamEnd) ends.push(options.onRequestStreamEnd);
  };
  const { peer, receive } = await talk({}, { send, hasPerRequestStream: true });
  await expect(peer.request('unsendable', {}, soon)).rejects.toThrow('no way');
  const [one, other] = [peer.request('one', {}, soon), peer.request('other', {}, soon)];
  ends[0]?.();
  await expect(one).rejects.toMatchObject({ code: 'UPSTREAM_FAILED', delivered: 'maybe' });
  receive({ jsonrpc: '2.0', id: 3, result: { ok: true } });
  await expect(other).resolves.toEqual({ ok: true });
});

verifies('T6', `leaves no timer and no listener behind after ${CALLS} calls`, async () => {
  ownTime();
  const { peer, receive } = await talk();
  const { signal } = new AbortController();
  const ask: RequestOptions = { ...soon, signal, onProgress: () => {} };
  for (let id = 1; id <= CALLS; id++) {
    const answer = peer.request('tools/call', {}, ask);
    if (id === CALLS) expect([getEventListeners(signal, 'abort').length, vi.getTimerCount()]).toEqual([1, 1]);
    receive({ jsonrpc: '2.0', id, [id % 3 ? 'result' : 'error']: {} });
    if (id % 3 === 0 || id % 1000 === 0) await answer.catch(() => {});
  }
  expect([getEventListeners(signal, 'abort').length, vi.getTimerCount()]).toEqual([0, 0]);
});

verifies('T6', 'never keeps the process alive by a timer', async () => {
  const { peer } = await talk();
  const held = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const before = held();
  peer.request('tools/call', {}, { deadlineMs: 60_000 }).catch(() => {});
  expect(held()).toBe(before);
  await peer.close();
});

verifies('T6', 'progress extends the deadline up to the longest there is, and not a moment longer', async () => {
  ownTime();
  const { peer, receive } = await talk();
  const answer = peer.request('tools/call', {}, { deadlineMs: 60, longestMs: 100, onProgress: () => {} });
  const failing = expect(answer).rejects.toMatchObject({ code: 'UPSTREAM_TIMEOUT' });
  let ended = false;
  answer.catch(() => (ended = true));
  const at = async (ms: number) => {
    await vi.advanceTimersByTimeAsync(ms);
    receive({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: 1, progress: 1 } });
  };
  await at(50);
  await at(45);
  await vi.advanceTimersByTimeAsync(4);
  expect(ended).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  await failing;
});

verifies('T6', 'a request that is held has no deadline, and goes on under another', async () => {
  ownTime();
  const { peer, sent, receive } = await talk();
  const first = new AbortController();
  const second = new AbortController();
  const reports: unknown[] = [];
  let told: Promise<void> | undefined;
  const ask = { deadlineMs: 50, signal: first.signal, onProgress: () => reports.push('first') };
  const answer = peer.request('tools/call', {}, ask);
  const progress = { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: 1, progress: 1 } };
  peer.hold(1);
  receive(progress);
  vi.advanceTimersByTime(10_000);
  const onGivenUp = (promise: Promise<void>) => (told = promise);
  peer.resume(1, { deadlineMs: 50, signal: second.signal, onProgress: () => reports.push('second'), onGivenUp });
  receive(progress);
  first.abort();
  expect(getEventListeners(first.signal, 'abort')).toHaveLength(0);
  vi.advanceTimersByTime(49);
  expect([sent.length, reports]).toEqual([1, ['first', 'second']]);
  second.abort();
  await expect(answer).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
  await told;
  expect(sent[1]).toMatchObject({ method: 'notifications/cancelled', params: { requestId: 1 } });
  peer.hold(1);
  peer.resume(1, soon);
});

it('overrides members of the envelope for one request, for modern servers only', async () => {
  const { peer, sent, receive } = await talk();
  const ask = { ...soon, envelope: { extra: 1 } };
  const answers = [peer.request('a', {}, ask)];
  peer.speakModern(ENVELOPE);
  answers.push(peer.request('a', { _meta: { extra: 0, own: true } }, ask), peer.request('a', {}, soon));
  expect(sent.map(({ params }) => (params as JsonObject)._meta)).toEqual([
    undefined,
    { ...ENVELOPE, extra: 1, own: true },
    ENVELOPE,
  ]);
  for (const { id } of sent) receive({ jsonrpc: '2.0', id, result: {} });
  await expect(Promise.all(answers)).resolves.toEqual([{}, {}, {}]);
});
