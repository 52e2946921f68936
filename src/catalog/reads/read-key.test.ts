import { expect, it } from 'vitest';
import type { JsonObject } from '../../core/call.ts';
import { aCall, ada, aTarget } from '../../core/fixtures.ts';
import { readKey } from './read-key.ts';

const aRead = (meta = {}, id = 'ada') =>
  aCall({ kind: 'resource', target: aTarget({ kind: 'resource', name: 'u:1' }), meta, caller: { ...ada, id } });

it('is short, however long the `_meta` of the read is', () => {
  const longMeta = (last: string) => ({ note: 'x'.repeat(1_000_000) + last });
  expect(readKey(aRead(longMeta('a')), 'private').length).toBeLessThan(100);
  expect(readKey(aRead(longMeta('a')), 'private')).not.toBe(readKey(aRead(longMeta('b')), 'private'));
});

it('distinguishes reads by unknown parameters', () => {
  const key = (extraParams: JsonObject) => readKey({ ...aRead(), extraParams }, 'private');
  expect(key({ range: [0, 1] })).not.toBe(key({ range: [1, 2] }));
  expect(key({ range: [0, 1] })).not.toBe(readKey(aRead({ range: [0, 1] }), 'private'));
});

it('is the same for the same read of one principal, or of all with public', () => {
  expect(readKey(aRead({ a: 1, b: 2 }), 'private')).toBe(readKey(aRead({ b: 2, a: 1, traceparent: 't' }), 'private'));
  expect(readKey(aRead(), 'private')).not.toBe(readKey(aRead({}, 'bob'), 'private'));
  expect(readKey(aRead(), 'public')).toBe(readKey(aRead({}, 'bob'), 'public'));
});
