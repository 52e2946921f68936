import { expect, it } from 'vitest';
import { patternSize } from './pattern-size.ts';

it('counts a class of Unicode as 300 instructions, and as 600 without regard to case', () => {
  expect(patternSize(`[${'\\pL'.repeat(100)}]`)).toBeGreaterThanOrEqual(30_000);
  expect(patternSize(`(?i)[${'\\P{L}'.repeat(100)}]`)).toBeGreaterThanOrEqual(60_000);
  expect(patternSize('^[\\p{L}\\p{N} _-]{1,40}$')).toBeLessThan(800);
});

it.each(['B-\u{1e942}', 'B-\\x{1e942}', 'B-\\u{1e942}'])('counts the wide range %s without regard to case', (range) => {
  expect(patternSize(`(?i)[${range.repeat(100)}]`)).toBeGreaterThanOrEqual(60_000);
  expect(patternSize(`(?si:[${range.repeat(100)}])`)).toBeGreaterThanOrEqual(60_000);
  expect(patternSize(`[${range.repeat(100)}]`)).toBeLessThan(2_000);
});

it('counts ranges of ASCII by their length only', () => {
  expect(patternSize('(?i)^[a-z0-9_.-]+@[a-z0-9.-]+$')).toBe(30);
});
