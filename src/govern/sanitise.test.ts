import fc from 'fast-check';
import { expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import type { JsonObject } from '../core/call.ts';
import { sanitised } from './sanitise.ts';

const clean = (input: JsonObject) => JSON.parse(JSON.stringify(sanitised(input)));

verifies('V1', 'redacts values of secret names in any case and at any depth', () => {
  const names = [
    'password',
    'userPassword',
    'SECRET',
    'clientSecret',
    'access_token',
    'apiKey',
    'APIKEY',
    'api_key',
    'Authorization',
  ];
  for (const name of names) {
    expect(clean({ [name]: 'hunter2' })).toEqual({ [name]: '[REDACTED]' });
    expect(clean({ a: [{ b: { [name]: { deep: 'hunter2' } } }] })).toEqual({ a: [{ b: { [name]: '[REDACTED]' } }] });
  }
  expect(clean({ name: 'ada', keyboard: 'qwerty' })).toEqual({ name: 'ada', keyboard: 'qwerty' });
});

verifies('V1', 'cuts strings at 200 characters and marks them', () => {
  expect(clean({ text: 'x'.repeat(200) })).toEqual({ text: 'x'.repeat(200) });
  expect(clean({ text: 'x'.repeat(201) })).toEqual({ text: `${'x'.repeat(200)}...[truncated]` });
});

verifies('V1', 'limits the total to 4 KB and marks the cut', () => {
  const many = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`key${index}`, 'x'.repeat(100)]));
  expect(clean({ small: 1 })).toEqual({ small: 1 });
  expect(clean(many)).toMatch(/^.{4096}\.\.\.\[truncated\]$/);
});

verifies('V1', 'stops at a depth of 8', () => {
  let deep: JsonObject = { end: true };
  for (let level = 0; level < 500; level++) deep = { in: deep };
  expect(JSON.stringify(sanitised(deep))).toContain('[deeper]');
});

verifies('V1', 'keeps a key named __proto__ as an own key', () => {
  const kept = sanitised(JSON.parse('{"__proto__": {"polluted": true}, "a": 1}'));
  expect(JSON.stringify(kept)).toBe('{"__proto__":{"polluted":true},"a":1}');
  expect(({} as JsonObject).polluted).toBeUndefined();
});

verifies('V1', 'no value of a secret name survives in any structure', () => {
  const wrapped = fc.letrec<{ tree: JsonObject }>((tie) => ({
    tree: fc.oneof(
      { depthSize: 'small' },
      fc.constant({ token: 'hunter2' }),
      fc.record({
        a: tie('tree'),
        b: fc.array(tie('tree'), { maxLength: 2 }),
        text: fc.string({ unit: 'grapheme-ascii', maxLength: 5 }),
      }),
    ),
  })).tree;
  fc.assert(
    fc.property(wrapped, (input) => {
      expect(JSON.stringify(sanitised(input))).not.toContain('hunter2');
    }),
  );
});
