import fc from 'fast-check';
import { expect, it } from 'vitest';
import { newCallId } from './call-id.ts';

it('makes UUIDs of version 7 that sort by time', () => {
  const moment = fc.integer({ min: 0, max: 2 ** 48 - 1 });
  fc.assert(
    fc.property(moment, moment, (first, second) => {
      fc.pre(first < second);
      const [one, other] = [newCallId(() => first), newCallId(() => second)];
      expect(one).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      expect(one < other).toBe(true);
      expect(Number.parseInt(one.replace('-', '').slice(0, 12), 16)).toBe(first);
    }),
  );
});

it('makes no id twice within one millisecond', () => {
  expect(new Set(Array.from({ length: 10_000 }, () => newCallId(() => 1))).size).toBe(10_000);
});
