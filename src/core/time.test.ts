import { expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { backoffMs } from './time.ts';

verifies('T5', 'the delay grows with each attempt and varies by at most 25 %', () => {
  expect([1, 2, 3].map((attempt) => backoffMs(5000, attempt, () => 0.5))).toEqual([5000, 10_000, 15_000]);
  expect([0, 1].map((edge) => backoffMs(1000, 2, () => edge))).toEqual([1500, 2500]);
  expect(backoffMs(0, 3, () => 1)).toBe(0);
});
