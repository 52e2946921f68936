import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { JsonObject } from '../../core/call.ts';
import { listTtls } from './list-ttl.ts';

function setting(capabilities: JsonObject, era: 'legacy' | 'modern' = 'modern') {
  let now = 0;
  const received: string[] = [];
  const agreement = { era, newest: era, protocolVersion: '', capabilities, serverInfo: {}, instructions: undefined };
  const lives = listTtls({ agreement, onNotification: (method) => received.push(method), clock: () => now });
  return { lives, received, pass: (ms: number) => (now += ms) };
}

verifies('R7', 'reports a list as changed when its ttlMs is over, and not before', () => {
  const { lives, received, pass } = setting({ tools: {}, resources: {} });
  lives.record('tools', 60_000);
  lives.record('resources', 90_000);
  lives.record('templates', 90_000);
  pass(59_999);
  lives.notifyExpired();
  expect(received).toEqual([]);
  pass(1);
  lives.notifyExpired();
  lives.notifyExpired();
  expect(received).toEqual(['notifications/tools/list_changed']);
  lives.record('tools', 60_000);
  pass(30_000);
  lives.notifyExpired();
  expect(received.slice(1)).toEqual(['notifications/resources/list_changed']);
});

verifies('R7', 'reports a list at most every 5 s, also with a shorter ttlMs', () => {
  const { lives, received, pass } = setting({ prompts: {} });
  lives.record('prompts', 0);
  for (let at = 0; at < 20; at++) {
    lives.notifyExpired();
    pass(1000);
  }
  expect(received).toHaveLength(3);
});

verifies('R7', 'ignores ttlMs with listChanged notifications, and a missing ttlMs', () => {
  for (const { lives, received, pass } of [
    setting({ tools: { listChanged: true } }),
    setting({ tools: {} }, 'legacy'),
  ]) {
    lives.record('tools', 1000);
    pass(1_000_000);
    lives.notifyExpired();
    expect(received).toEqual([]);
  }
  const { lives, received, pass } = setting({ tools: {} });
  for (const ttlMs of [undefined, 'x', -1, Number.NaN]) lives.record('tools', ttlMs);
  pass(1_000_000);
  lives.notifyExpired();
  expect(received).toEqual([]);
});
