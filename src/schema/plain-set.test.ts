import { expect, it, vi } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { compileCheck } from './compile.ts';
import { plainSet } from './plain-set.ts';

it('contains each value once, and keeps numbers apart from texts', () => {
  const set = plainSet([1, 0.5, 'n1', '1', true, null, 1, '1']);
  expect(set.size()).toBe(6);
  for (const value of [1, 0.5, 'n1', '1', true, null]) expect(set.has(value)).toBe(true);
  for (const value of [2, -1, 'n0.5', '0.5', false, undefined]) expect(set.has(value)).toBe(false);
  set.add(0);
  expect(set.has(-0)).toBe(true);
});

verifies('G4', 'no check keeps numbers in a set, whose hashes a sender can choose', () => {
  const add = vi.spyOn(Set.prototype, 'add');
  const numbers = [0.25, 7, 2 ** 40];
  const list = { type: 'array', uniqueItems: true, items: { enum: numbers } };
  const isValid = [
    compileCheck({ type: 'object', properties: { a: list } }, 'tool'),
    compileCheck({ type: 'object', properties: { a: { ...list, minItems: 1 } } }, 'tool'),
  ].map((check) => check({ a: numbers }) === undefined);
  const added = add.mock.calls.flat();
  add.mockRestore();
  expect(isValid).toEqual([true, true]);
  expect(added.filter((value) => typeof value === 'number')).toEqual([]);
});
