import { expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { resourceSubscriptions, type SubscriptionContext } from './resource-subscriptions.ts';

function client() {
  const told: string[] = [];
  const begun: SubscriptionContext[] = [];
  const one = resourceSubscriptions((method) => told.push(method));
  const begin = (uri: string, fails = false) =>
    one.begin(uri, async (following) => {
      begun.push(following);
      if (fails) throw new Error('no');
    });
  return { ...one, begin, begun, told };
}

verifies('R6', 'a client follows a URI once, however often it says so, until it ends', async () => {
  const { begin, begun, end, told } = client();
  await Promise.all([begin('u:1'), begin('u:1')]);
  expect(begun).toHaveLength(1);
  begun[0]?.tell('updated', {});
  expect(told).toEqual(['updated']);
  end('u:1');
  end('u:1');
  expect(begun[0]?.signal.aborted).toBe(true);
  await begin('u:1');
  expect(begun).toHaveLength(2);
});

verifies('R6', 'what could not begin can be tried again', async () => {
  const { begin, begun } = client();
  await expect(begin('u:1', true)).rejects.toThrow('no');
  await begin('u:1');
  expect(begun).toHaveLength(2);
});

verifies('R6', 'a client that leaves follows nothing, and nothing more', async () => {
  const { begin, begun, close } = client();
  await begin('u:1');
  close();
  expect(begun[0]?.signal.aborted).toBe(true);
  await expect(begin('u:2')).rejects.toThrow();
  expect(begun).toHaveLength(1);
});

verifies('R6', 'nobody follows without end', async () => {
  const { begin, begun } = client();
  for (let at = 0; at < 1000; at++) await begin(`u:${at}`);
  await expect(begin('u:1000')).rejects.toThrow();
  expect(begun).toHaveLength(1000);
});
