import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { JsonObject } from '../../core/call.ts';
import { listTtls } from './list-ttl.ts';

function setting(capabilities: JsonObject, era: 'legacy' | 'modern' = 'modern') {
  let now = 0;
  const heard: string[] = [];
  const agreement = { era, newest: era, protocolVersion: '', capabilities, serverInfo: {}, instructions: undefined };
  const lives = listTtls({ agreement, onNotification: (method) => heard.push(method), clock: () => now });
  return { lives, heard, pass: (ms: number) => (now += ms) };
}

verifies('R7', 'a list is asked for again when its time is over and somebody looks, and not before', () => {
  const { lives, heard, pass } = setting({ tools: {}, resources: {} });
  lives.took('tools', 60_000);
  lives.took('resources', 90_000);
  lives.took('templates', 90_000);
  pass(59_999);
  lives.freshen();
  expect(heard).toEqual([]);
  pass(1);
  lives.freshen();
  lives.freshen();
  expect(heard).toEqual(['notifications/tools/list_changed']);
  lives.took('tools', 60_000);
  pass(30_000);
  lives.freshen();
  expect(heard.slice(1)).toEqual(['notifications/resources/list_changed']);
});

verifies('R7', 'a server is not asked with every look, however short it says', () => {
  const { lives, heard, pass } = setting({ prompts: {} });
  lives.took('prompts', 0);
  for (let at = 0; at < 20; at++) {
    lives.freshen();
    pass(1000);
  }
  expect(heard).toHaveLength(3);
});

verifies('R7', 'whoever tells of changes, or says nothing, is not asked again', () => {
  for (const { lives, heard, pass } of [setting({ tools: { listChanged: true } }), setting({ tools: {} }, 'legacy')]) {
    lives.took('tools', 1000);
    pass(1_000_000);
    lives.freshen();
    expect(heard).toEqual([]);
  }
  const { lives, heard, pass } = setting({ tools: {} });
  for (const ttlMs of [undefined, 'x', -1, Number.NaN]) lives.took('tools', ttlMs);
  pass(1_000_000);
  lives.freshen();
  expect(heard).toEqual([]);
});
