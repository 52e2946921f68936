import { expect, it, onTestFinished, vi } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import {
  anySignal,
  openListeningConnection,
  PROMPTS,
  settled,
  TOOLS,
  UPDATED,
} from '../../../test/servers/listening-connection.ts';
import { RpcError } from '../../wire/json-rpc.ts';

verifies(
  'T8',
  'listens again after the server has ended the stream, and reports all lists and resources as changed',
  async () => {
    const { changes, listens, received, delays, retry } = await openListeningConnection();
    await changes.subscribe('file:///a', anySignal);
    expect(received).toEqual([]);
    listens.at(-1)?.end();
    await settled();
    expect(delays).toEqual([1000]);
    expect(received).toEqual([]);
    await retry();
    expect(listens.at(-1)?.filter).toEqual({
      toolsListChanged: true,
      promptsListChanged: true,
      resourceSubscriptions: ['file:///a'],
    });
    expect(received).toEqual([
      [TOOLS, {}],
      [PROMPTS, {}],
      [UPDATED, { uri: 'file:///a' }],
    ]);
  },
);

verifies('T8', 'reports a change that came before the first stream was acknowledged', async () => {
  let acknowledges = false;
  const { changes, listens, received, retry } = await openListeningConnection({
    acknowledges: (filter) => (acknowledges ? filter : undefined),
  });
  listens[0]?.fail(new RpcError(-32603, 'Not ready'));
  await settled();
  acknowledges = true;
  await changes.unsubscribe('nothing', anySignal);
  await settled();
  expect(listens).toHaveLength(1); // The retry still waits.
  await retry();
  expect(received).toEqual([
    [TOOLS, {}],
    [PROMPTS, {}],
  ]);
});

verifies('T5', 'doubles the retry delay while streams fail, and resets it after a notification', async () => {
  const { listens, delays, retry, notify, advance } = await openListeningConnection();
  for (let at = 0; at < 7; at++) {
    listens.at(-1)?.fail(new RpcError(-32603, 'Subscription limit reached'));
    await settled();
    await retry();
  }
  expect(delays).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
  await notify(TOOLS, {});
  listens.at(-1)?.end();
  await settled();
  expect(delays.at(-1)).toBe(1000);
  await retry();
  listens.at(-1)?.end();
  await settled();
  expect(delays.at(-1)).toBe(2000);
  await retry();
  advance(30_000); // No notification, but the stream stayed open.
  listens.at(-1)?.end();
  await settled();
  expect(delays.at(-1)).toBe(1000);
});

verifies('T5', 'does not retry when the server knows no listen, or acknowledges nothing', async () => {
  const unable = await openListeningConnection({ refusal: new RpcError(-32601, 'Method not found') });
  expect(unable.requests).toEqual(['subscriptions/listen']);
  expect(unable.delays).toEqual([]);
  await expect(unable.changes.subscribe('a', anySignal)).rejects.toMatchObject({ message: 'Method not found' });
  expect(unable.requests).toHaveLength(1);

  const unwilling = await openListeningConnection({ acknowledges: () => ({}) });
  unwilling.listens[0]?.end();
  await settled();
  expect(unwilling.delays).toEqual([]);
  expect(unwilling.listens).toHaveLength(1);
});

verifies('R6', 'sends one new request for all subscriptions of one turn, and aborts the one before', async () => {
  const { changes, listens, received, notify, isOpen } = await openListeningConnection();
  await Promise.all(['a', 'b', 'c'].map((uri) => changes.subscribe(uri, anySignal)));
  await settled();
  expect(listens.map(({ filter }) => filter.resourceSubscriptions)).toEqual([undefined, ['a', 'b', 'c']]);
  expect(isOpen()).toEqual([false, true]);
  await notify(UPDATED, { uri: 'a' }, listens[0]?.id);
  expect(received).toEqual([]);
  await notify(UPDATED, { uri: 'b' });
  expect(received).toEqual([[UPDATED, { uri: 'b' }]]);
  void changes.unsubscribe('a', anySignal);
  await changes.subscribe('a', anySignal);
  await settled();
  expect(listens).toHaveLength(2);
  await changes.unsubscribe('b', anySignal);
  await settled();
  expect(listens.at(-1)?.filter.resourceSubscriptions).toEqual(expect.arrayContaining(['a', 'c']));
  expect(isOpen().filter(Boolean)).toHaveLength(1);
  expect(received).toHaveLength(1);
});

verifies('R6', 'passes on changes of the older stream until the newer one is acknowledged', async () => {
  let acknowledges = true;
  const { changes, listens, received, notify, isOpen } = await openListeningConnection({
    acknowledges: (filter) => (acknowledges ? filter : undefined),
  });
  acknowledges = false;
  const subscribed = changes.subscribe('a', anySignal);
  await settled();
  expect(isOpen()).toEqual([true, true]);
  await notify(TOOLS, {}, listens[0]?.id);
  expect(received).toEqual([[TOOLS, {}]]);
  await notify('notifications/subscriptions/acknowledged', { notifications: { resourceSubscriptions: ['a'] } });
  await subscribed;
  await settled();
  expect(isOpen()).toEqual([false, true]);
  expect(received).toHaveLength(1);
});

verifies('R6', 'rejects a resource that the server does not acknowledge, and keeps the others', async () => {
  const { changes, listens, received, notify } = await openListeningConnection({
    acknowledges: ({ resourceSubscriptions, ...lists }) => ({
      ...lists,
      resourceSubscriptions: ((resourceSubscriptions ?? []) as string[]).filter((uri) => uri !== 'secret'),
    }),
  });
  await changes.subscribe('a', anySignal);
  const refused = { code: 'UPSTREAM_REFUSED', message: 'demo does not notify changes of secret.' };
  await expect(changes.subscribe('secret', anySignal)).rejects.toMatchObject(refused);
  await settled();
  expect(listens.at(-1)?.filter.resourceSubscriptions).toEqual(['a']);
  await notify(UPDATED, { uri: 'a' });
  expect(received).toEqual([[UPDATED, { uri: 'a' }]]);
});

it('rejects waiting subscribers when a request fails, keeps the current stream, and retries for the next subscriber', async () => {
  let fails = false;
  const { changes, listens, received, notify, isOpen, delays } = await openListeningConnection({
    acknowledges: (filter) => (fails ? undefined : filter),
  });
  fails = true;
  const subscribed = changes.subscribe('a', anySignal);
  await settled();
  listens.at(-1)?.fail(new RpcError(-32603, 'Subscription limit reached'));
  await expect(subscribed).rejects.toMatchObject({ code: 'UPSTREAM_REFUSED', message: 'Subscription limit reached' });
  expect(delays).toEqual([1000]);
  expect(isOpen()[0]).toBe(true);
  await notify(TOOLS, {}, listens[0]?.id);
  expect(received).toEqual([[TOOLS, {}]]);
  fails = false;
  await changes.subscribe('b', anySignal);
  expect(listens.at(-1)?.filter.resourceSubscriptions).toEqual(['b']);
});

it('rejects a subscription without an acknowledgement after 15 s', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const { changes, delays, isOpen } = await openListeningConnection({ acknowledges: () => undefined });
  const subscribed = changes.subscribe('a', anySignal);
  vi.advanceTimersByTime(15_000);
  await settled();
  expect(delays).toEqual([1000]);
  vi.advanceTimersByTime(15_000);
  await settled();
  expect(isOpen()).toContain(false);
  changes.close();
  await expect(subscribed).rejects.toMatchObject({ code: expect.stringMatching(/^UPSTREAM_/) });
});

it('ignores a second, late or unexpected acknowledgement', async () => {
  const { listens, received, notify, changes, isOpen } = await openListeningConnection();
  const acknowledged = 'notifications/subscriptions/acknowledged';
  await changes.subscribe('a', anySignal);
  await notify(acknowledged, { notifications: {} });
  await notify(acknowledged, { notifications: {} }, listens[0]?.id);
  await notify(acknowledged, { notifications: {} }, 1_000_000);
  await notify(TOOLS, {}, 1_000_000);
  await notify(TOOLS, {}, 'text' as never);
  expect(received).toEqual([]);
  expect(isOpen()).toEqual([false, true]);
  await notify(TOOLS, {});
  expect(received).toHaveLength(1);
});

it('ignores the acknowledgement of an older request', async () => {
  let acknowledges = true;
  const { changes, listens, notify, isOpen } = await openListeningConnection({
    acknowledges: (filter) => (acknowledges ? filter : undefined),
  });
  acknowledges = false;
  const subscribed = changes.subscribe('a', anySignal);
  await settled();
  await notify('notifications/subscriptions/acknowledged', { notifications: {} }, listens[0]?.id);
  expect(isOpen()).toEqual([true, true]);
  await notify('notifications/subscriptions/acknowledged', { notifications: { resourceSubscriptions: ['a'] } });
  await subscribed;
});

it('ends the subscription of an aborted subscriber', async () => {
  const { changes, listens, notify } = await openListeningConnection({ acknowledges: () => undefined });
  const abort = new AbortController();
  const subscribed = changes.subscribe('a', abort.signal);
  await settled();
  abort.abort();
  await expect(subscribed).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
  await expect(changes.subscribe('b', AbortSignal.abort())).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
  await settled();
  await notify('notifications/subscriptions/acknowledged', { notifications: listens[0]?.filter ?? {} });
  expect(listens).toHaveLength(1);
});

verifies('T6', 'ends the stream on close and when the connection is lost', async () => {
  const closed = await openListeningConnection();
  closed.changes.close();
  await closed.peer.idle();
  await settled();
  expect(closed.isOpen()).toEqual([false]);
  expect(closed.delays).toEqual([]);
  await expect(closed.changes.subscribe('a', anySignal)).rejects.toMatchObject({ code: 'UPSTREAM_FAILED' });

  const lost = await openListeningConnection();
  await lost.server.close();
  await settled();
  await lost.retry();
  expect(lost.delays.length).toBeLessThan(2);
  await expect(lost.changes.subscribe('a', anySignal)).rejects.toMatchObject({ code: 'UPSTREAM_FAILED' });
});
