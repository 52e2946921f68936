import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { type BreakerPass, type Breakers, breakers } from './breaker.ts';

const at = { now: 1_000_000, connections: 1 };
const opened = (): Breakers =>
  breakers({ clock: () => at.now, identityOf: (server) => server, connectionsTo: () => at.connections });

function fail(breaker: Breakers, times: number): void {
  for (let time = 0; time < times; time++) breaker.failed('a', 't', { pass: breaker.enter('a', 't') as BreakerPass });
}

/** Loses one connection with as many calls in flight. */
function lose(breaker: Breakers, calls: number): void {
  const passes = Array.from({ length: calls }, () => breaker.enter('a', 't') as BreakerPass);
  const lostSince = breaker.losses();
  for (const pass of passes) breaker.failed('a', 't', { pass, lostSince });
}

verifies('R4', 'the fifth failure in a row opens the breaker of that tool and server for 30 s', () => {
  const breaker = opened();
  fail(breaker, 4);
  expect(breaker.enter('a', 't')).toBe('in');
  breaker.failed('a', 't', { pass: 'in' });
  expect(breaker.enter('a', 't')).toBe(30_000);
  at.now += 29_999;
  expect(breaker.enter('a', 't')).toBe(1);
  expect([breaker.enter('b', 't'), breaker.enter('a', 'u')]).toEqual(['in', 'in']);
});

verifies('R4', 'a result resets the failure count, a cancelled call does not', () => {
  const breaker = opened();
  fail(breaker, 4);
  breaker.answered('a', 't');
  fail(breaker, 4);
  breaker.left('a', 't', 'in');
  expect(breaker.enter('a', 't')).toBe('in');
  fail(breaker, 1);
  expect(breaker.enter('a', 't')).toBe(30_000);
});

verifies('R4', 'after 30 s one probe decides for all calls', () => {
  const breaker = opened();
  fail(breaker, 5);
  at.now += 30_000;
  expect([breaker.enter('a', 't'), breaker.enter('a', 't')]).toEqual(['probe', 1000]);
  breaker.failed('a', 't', { pass: 'probe' });
  expect(breaker.enter('a', 't')).toBe(30_000);
  at.now += 30_000;
  expect(breaker.enter('a', 't')).toBe('probe');
  breaker.left('a', 't', 'probe');
  expect(breaker.enter('a', 't')).toBe('probe');
  breaker.answered('a', 't');
  expect([breaker.enter('a', 't'), breaker.enter('a', 't')]).toEqual(['in', 'in']);
});

verifies('R4', 'calls in flight when the breaker opened neither extend it nor allow a second probe', () => {
  const breaker = opened();
  fail(breaker, 5);
  at.now += 10_000;
  breaker.failed('a', 't', { pass: 'in' });
  expect(breaker.enter('a', 't')).toBe(20_000);
  at.now += 20_000;
  expect(breaker.enter('a', 't')).toBe('probe');
  breaker.failed('a', 't', { pass: 'in' });
  breaker.left('a', 't', 'in');
  expect(breaker.enter('a', 't')).toBe(1000);
});

verifies('R4', 'distinguishes server and tool names that concatenate to the same text', () => {
  const breaker = opened();
  for (let time = 0; time < 5; time++) breaker.failed('a b', 'c', { pass: 'in' });
  expect([breaker.enter('a b', 'c'), breaker.enter('a', 'b c')]).toEqual([30_000, 'in']);
});

verifies('R4', 'a lost connection is one failure, however many calls were in flight', () => {
  const breaker = opened();
  for (let crash = 0; crash < 4; crash++) lose(breaker, 50);
  expect(breaker.enter('a', 't')).toBe('in');
  lose(breaker, 50);
  expect(breaker.enter('a', 't')).toBe(30_000);
});

verifies('R4', 'counts each of several lost connections, and other failures between them', () => {
  const breaker = opened();
  lose(breaker, 1);
  lose(breaker, 1);
  fail(breaker, 2);
  lose(breaker, 1);
  expect(breaker.enter('a', 't')).toBe(30_000);
});

verifies('R4', 'each new connection allows one probe at once', () => {
  const breaker = opened();
  for (let crash = 0; crash < 5; crash++) lose(breaker, 2);
  expect(breaker.enter('a', 't')).toBe(30_000);
  at.connections++;
  expect([breaker.enter('a', 't'), breaker.enter('a', 't')]).toEqual(['probe', 1000]);
  breaker.failed('a', 't', { pass: 'probe' });
  expect(breaker.enter('a', 't')).toBe(30_000);
  at.connections++;
  expect(breaker.enter('a', 't')).toBe('probe');
  breaker.answered('a', 't');
  expect([breaker.enter('a', 't'), breaker.enter('a', 't')]).toEqual(['in', 'in']);
});

verifies('R4', 'a probe that is lost together with an older call opens the breaker again', () => {
  const breaker = opened();
  fail(breaker, 5);
  const lostSince = breaker.losses();
  at.connections++;
  expect(breaker.enter('a', 't')).toBe('probe');
  breaker.failed('a', 't', { pass: 'in', lostSince });
  breaker.failed('a', 't', { pass: 'probe', lostSince });
  expect(breaker.enter('a', 't')).toBe(30_000);
});
