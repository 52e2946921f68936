import { expect, it } from 'vitest';
import { linearPattern } from './linear-pattern.ts';

it('compiles a pattern once for all values', () => {
  expect(linearPattern('^[a-z]{1,40}$')).toBe(linearPattern('^[a-z]{1,40}$'));
  expect([linearPattern('^a$')?.('a'), linearPattern('^a$')?.('b')]).toEqual([true, false]);
});

it.each(['(?=a)b', '(a)\\1', 'a'.repeat(2_001), '((ab){30}){30}'.repeat(20)])('does not compile %s', (source) => {
  expect(linearPattern(source)).toBeUndefined();
});

it('accepts a text that would take more than 5 million steps', () => {
  const fits = linearPattern('^b$');
  expect([fits?.('a'.repeat(10_000)), fits?.('a'.repeat(2_000_000))]).toEqual([false, true]);
});
