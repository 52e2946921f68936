import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Json } from '../call.ts';
import { previewJson } from './preview-json.ts';

it('returns the beginning of the text that JSON.stringify returns', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), fc.nat(40), (value, max) => {
      const text = JSON.stringify(value);
      expect(previewJson(value as Json, max)).toBe(text.length > max ? `${text.slice(0, max)}…` : text);
    }),
  );
  expect(previewJson({ a: undefined, b: ['\u{1f44d}\n', null] }, 60)).toBe('{"b":["👍\\n",null]}');
});

it('reads only the items that it shows', () => {
  let read = 0;
  const items = new Proxy([1, 2, 3, ...Array.from({ length: 10_000 }, () => 4)], {
    get(target, key) {
      read++;
      return Reflect.get(target, key);
    },
  });
  expect(previewJson({ items }, 20)).toBe('{"items":[1,2,3,4,4,…');
  expect(read).toBeLessThan(50);
});
