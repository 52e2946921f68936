import { expect, it } from 'vitest';
import { BoundedMap, BoundedSet } from './bounded-map.ts';

it('evicts the oldest entry of a map that is full', () => {
  const map = new BoundedMap<string, number>(2).set('a', 1).set('b', 2).set('c', 3);
  expect([...map]).toEqual([
    ['b', 2],
    ['c', 3],
  ]);
});

it('makes a key that is set again the newest', () => {
  const map = new BoundedMap<string, number>(2).set('a', 1).set('b', 2).set('a', 3).set('c', 4);
  expect([...map.keys()]).toEqual(['a', 'c']);
});

it('evicts the oldest value of a set that is full', () => {
  const set = new BoundedSet<string>(2).add('a').add('b').add('a').add('c');
  expect([...set]).toEqual(['a', 'c']);
});

it('keeps nothing with a bound of 0', () => {
  expect(new BoundedMap<string, number>(0).set('a', 1).size).toBe(0);
  expect(new BoundedSet<string>(0).add('a').size).toBe(0);
});
