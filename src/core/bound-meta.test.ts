import { expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { splitMeta } from './bound-meta.ts';

verifies('G6', 'separates trace context and ids of known clients from the keys that an approval covers', () => {
  const ids = {
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    tracestate: 'a=b',
    baggage: 'c=d',
    'claudecode/toolUseId': 'toolu_1',
    'vscode.requestId': 'r',
  };
  const bound = { command: 'ls', 'example.com/x': { deep: [1] } };
  expect(splitMeta({ ...ids, ...bound })).toEqual({ bound, unbound: ids });
});

verifies('G6', 'covers the value of a known id that is no text, or has more than 128 characters', () => {
  const key = 'claudecode/toolUseId';
  for (const value of ['x'.repeat(129), 7, null, true, ['a'], { command: 'rm' }]) {
    expect(splitMeta({ [key]: value })).toEqual({ bound: { [key]: value } });
  }
  expect(splitMeta({ [key]: 'x'.repeat(128) }).bound).toBeUndefined();
});

verifies('G6', 'separates trace context up to the lengths that W3C names, and binds longer ones', () => {
  for (const [key, max] of Object.entries({ traceparent: 128, tracestate: 512, baggage: 8192 })) {
    expect(splitMeta({ [key]: 'x'.repeat(max) }).bound).toBeUndefined();
    for (const value of ['x'.repeat(max + 1), 7]) {
      expect(splitMeta({ [key]: value })).toEqual({ bound: { [key]: value } });
    }
  }
});

verifies('G6', 'covers keys that only look like those of the table', () => {
  const meta = { Traceparent: 'a', 'claudecode/tooluseid': 'b', constructor: 'c', callId: 'd', itemId: 'e' };
  expect(splitMeta(meta)).toEqual({ bound: meta });
  expect(splitMeta({})).toEqual({});
  expect(splitMeta()).toEqual({});
});
