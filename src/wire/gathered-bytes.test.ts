import fc from 'fast-check';
import { expect, it } from 'vitest';
import { GatheredBytes } from './gathered-bytes.ts';

it('gives back what was added, in order, however many pieces it came in', () => {
  const gathered = new GatheredBytes();
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 5000, size: 'max' }), fc.integer({ min: 1, max: 9 }), (bytes, step) => {
      for (let at = 0; at < bytes.length; at += step) gathered.add(Buffer.from(bytes.subarray(at, at + step)));
      expect(gathered.length).toBe(bytes.length);
      expect(gathered.take().equals(bytes)).toBe(true);
    }),
  );
});

it('gives back a single piece as it came, and begins anew', () => {
  const gathered = new GatheredBytes();
  const piece = Buffer.from('whole');
  gathered.add(piece);
  expect(gathered.take()).toBe(piece);
  gathered.add(piece);
  gathered.clear();
  expect([gathered.length, gathered.take().length]).toEqual([0, 0]);
});
