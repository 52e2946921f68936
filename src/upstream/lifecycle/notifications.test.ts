import { expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { Notification } from '../../core/records/notification.ts';
import { notifications, requireCustom } from './notifications.ts';

verifies('T9', 'passes a notification to every handler whose filter matches', () => {
  const received: string[] = [];
  const note = (who: string) => (one: Notification) => void received.push(`${who}: ${one.server} ${one.method}`);
  const bus = notifications();
  bus.on({}, note('all'));
  bus.on({ server: 'a' }, note('of a'));
  bus.on({ method: 'notifications/message' }, note('logs'));
  bus.on({ server: 'b', method: 'selection_changed' }, note('selection of b'));
  bus.publish('a', 'notifications/message', { level: 'info' });
  bus.publish('b', 'selection_changed', {});
  bus.publish('b', 'selection_changed_too', {});
  expect(received).toEqual([
    'all: a notifications/message',
    'of a: a notifications/message',
    'logs: a notifications/message',
    'all: b selection_changed',
    'selection of b: b selection_changed',
    'all: b selection_changed_too',
  ]);
});

verifies('T9', 'reports a handler that throws, and calls the others', async () => {
  const troubles: unknown[] = [];
  const received: unknown[] = [];
  const bus = notifications((thrown) => troubles.push(thrown));
  bus.on({}, () => {
    throw new Error('at once');
  });
  bus.on({}, async () => {
    throw new Error('later');
  });
  bus.on({}, ({ params }) => void received.push(params));
  bus.publish('a', 'x', { at: 1 });
  bus.publish('a', 'x', { at: 2 });
  expect(received).toEqual([{ at: 1 }, { at: 2 }]);
  await Promise.resolve();
  expect(troubles).toHaveLength(4);
});

it('calls a removed handler no more, also when a handler removes it', () => {
  let received = 0;
  const bus = notifications();
  const stop = bus.on({}, () => {
    received++;
    stop();
    bus.on({}, () => void received++);
  });
  bus.publish('a', 'x', {});
  expect(received).toBe(1);
  bus.publish('a', 'x', {});
  expect(received).toBe(2);
});

verifies('T9', 'allows custom notifications, and rejects methods of MCP', () => {
  for (const method of [
    'ide_connected',
    'notifications/vendor/thing',
    'vendor/thing',
    '$/log',
    'notifications/roots/list_changed',
  ]) {
    expect(() => requireCustom(method, () => false)).not.toThrow();
  }
  const own = ['', 'initialize', 'ping', 'tools/call', 'resources/read', 'tasks/cancel', 'subscriptions/listen'];
  const steering = ['notifications/initialized', 'notifications/cancelled', 'notifications/progress'];
  for (const method of [...own, ...steering]) {
    expect(() => requireCustom(method, () => false)).toThrow(expect.objectContaining({ code: 'INPUT_INVALID' }));
  }
});
