import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { retryBudget } from './retry-budget.ts';

function budgeted(now = 0) {
  const time = { now };
  const budget = retryBudget(() => time.now);
  return {
    time,
    count(calls: number) {
      for (let call = 0; call < calls; call++) budget.count();
    },
    /** How many retries are allowed right now. */
    spend() {
      let taken = 0;
      for (; !budget.isSpent(); taken++) budget.take();
      return taken;
    },
  };
}

verifies('R4', 'allows 10 retries within 10 s for any number of calls', () => {
  const { time, spend } = budgeted();
  expect([spend(), spend()]).toEqual([10, 0]);
  time.now = 9_999;
  expect(spend()).toBe(0);
  time.now = 10_000;
  expect(spend()).toBe(10);
});

verifies('R4', 'allows retries for a fifth of the calls of the last 10 s', () => {
  const { time, count, spend } = budgeted();
  count(100);
  expect(spend()).toBe(20);
  time.now = 5_000;
  count(100);
  expect(spend()).toBe(20);
  time.now = 10_500;
  expect(spend()).toBe(0); // Of the second hundred a fifth was repeated already.
  time.now = 100_000;
  expect(spend()).toBe(10);
});

verifies('R4', 'allows retries after the clock was set back', () => {
  const { time, spend } = budgeted(1_000_000);
  expect(spend()).toBe(10);
  time.now = 3_000;
  expect([spend(), spend()]).toEqual([10, 0]);
});
