import { expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { type Breakers, breakers, type Pass } from './breaker.ts';

const at = { now: 1_000_000 };
const opened = (): Breakers => breakers(() => at.now);

function fail(breaker: Breakers, times: number): void {
  for (let time = 0; time < times; time++) breaker.ended('a', 't', breaker.enter('a', 't') as Pass, 'failed');
}

verifies('R4', 'the fifth failure in a row closes the way for half a minute, to that tool of that server alone', () => {
  const breaker = opened();
  fail(breaker, 4);
  expect(breaker.enter('a', 't')).toBe('in');
  breaker.ended('a', 't', 'in', 'failed');
  expect(breaker.enter('a', 't')).toBe(30_000);
  at.now += 29_999;
  expect(breaker.enter('a', 't')).toBe(1);
  expect([breaker.enter('b', 't'), breaker.enter('a', 'u')]).toEqual(['in', 'in']);
});

verifies('R4', 'an answer between failures begins the count anew, what says nothing does not', () => {
  const breaker = opened();
  fail(breaker, 4);
  breaker.ended('a', 't', 'in', 'answered');
  fail(breaker, 4);
  breaker.ended('a', 't', 'in', 'left');
  expect(breaker.enter('a', 't')).toBe('in');
  fail(breaker, 1);
  expect(breaker.enter('a', 't')).toBe(30_000);
});

verifies('R4', 'after that time one may try, and its fate decides for all', () => {
  const breaker = opened();
  fail(breaker, 5);
  at.now += 30_000;
  expect([breaker.enter('a', 't'), breaker.enter('a', 't')]).toEqual(['probe', 1000]);
  breaker.ended('a', 't', 'probe', 'failed');
  expect(breaker.enter('a', 't')).toBe(30_000);
  at.now += 30_000;
  expect(breaker.enter('a', 't')).toBe('probe');
  breaker.ended('a', 't', 'probe', 'left');
  expect(breaker.enter('a', 't')).toBe('probe');
  breaker.ended('a', 't', 'probe', 'answered');
  expect([breaker.enter('a', 't'), breaker.enter('a', 't')]).toEqual(['in', 'in']);
});

verifies('R4', 'calls that were under way when it closed neither prolong it nor let a second one try', () => {
  const breaker = opened();
  fail(breaker, 5);
  at.now += 10_000;
  breaker.ended('a', 't', 'in', 'failed');
  expect(breaker.enter('a', 't')).toBe(20_000);
  at.now += 20_000;
  expect(breaker.enter('a', 't')).toBe('probe');
  breaker.ended('a', 't', 'in', 'failed');
  breaker.ended('a', 't', 'in', 'left');
  expect(breaker.enter('a', 't')).toBe(1000);
});

verifies('R4', 'names that run into each other are told apart', () => {
  const breaker = opened();
  for (let time = 0; time < 5; time++) breaker.ended('a b', 'c', 'in', 'failed');
  expect([breaker.enter('a b', 'c'), breaker.enter('a', 'b c')]).toEqual([30_000, 'in']);
});
