import { expect, it } from 'vitest';
import { aCall, aTarget } from '../fixtures.ts';
import { callAt, nameAt } from './equivalent.ts';

const definition = { name: 'find' };
const at = (rename: Record<string, string>) =>
  aTarget({ servers: ['a', 'b'], equivalents: new Map([['b', { name: 'find', definition, rename }]]) });

it('does not change a call for a server that uses the target’s own name', () => {
  const call = aCall({ target: at({ query: 'q' }), input: { query: 1 } });
  expect(callAt(call, 'a')).toBe(call);
  expect([nameAt(call.target, 'a'), nameAt(call.target, 'b')]).toEqual(['echo', 'find']);
});

it('swaps argument names, and lets a renamed argument win over an undeclared one', () => {
  const inputOf = (rename: Record<string, string>, input: Record<string, number>) =>
    callAt(aCall({ target: at(rename), input }), 'b').input;
  expect(inputOf({ x: 'y', y: 'x' }, { x: 1, y: 2 })).toEqual({ x: 2, y: 1 });
  expect(inputOf({ query: 'q' }, { query: 1, q: 2, other: 3 })).toEqual({ q: 1, other: 3 });
});

it('handles argument names such as toString and __proto__', () => {
  const input = JSON.parse('{"constructor": 1, "__proto__": 2}');
  const renamed = callAt(aCall({ target: at({}), input }), 'b').input;
  expect(Object.entries(renamed)).toEqual([
    ['constructor', 1],
    ['__proto__', 2],
  ]);
});
