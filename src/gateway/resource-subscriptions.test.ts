import { expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { resourceSubscriptions, type SubscriptionContext } from './resource-subscriptions.ts';

function client() {
  const notifications: string[] = [];
  const begun: SubscriptionContext[] = [];
  const one = resourceSubscriptions((method) => notifications.push(method));
  const begin = (uri: string, fails = false) =>
    one.begin(uri, async (context) => {
      begun.push(context);
      if (fails) throw new Error('no');
    });
  return { ...one, begin, begun, notifications };
}

verifies('R6', 'subscribes once per URI until the client unsubscribes', async () => {
  const { begin, begun, end, notifications } = client();
  await Promise.all([begin('u:1'), begin('u:1')]);
  expect(begun).toHaveLength(1);
  begun[0]?.notify('updated', {});
  expect(notifications).toEqual(['updated']);
  end('u:1');
  end('u:1');
  expect(begun[0]?.signal.aborted).toBe(true);
  await begin('u:1');
  expect(begun).toHaveLength(2);
});

verifies('R6', 'retries a subscription that failed', async () => {
  const { begin, begun } = client();
  await expect(begin('u:1', true)).rejects.toThrow('no');
  await begin('u:1');
  expect(begun).toHaveLength(2);
});

verifies('R6', 'ends all subscriptions and accepts none after the client has disconnected', async () => {
  const { begin, begun, close } = client();
  await begin('u:1');
  close();
  expect(begun[0]?.signal.aborted).toBe(true);
  await expect(begin('u:2')).rejects.toThrow();
  expect(begun).toHaveLength(1);
});

verifies('R6', 'rejects subscription 1001 of one client', async () => {
  const { begin, begun } = client();
  for (let at = 0; at < 1000; at++) await begin(`u:${at}`);
  await expect(begin('u:1000')).rejects.toThrow();
  expect(begun).toHaveLength(1000);
});
