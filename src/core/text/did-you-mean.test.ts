import { expect, it } from 'vitest';
import { within } from '../../../test/limits.ts';
import { closest, nearestFirst } from './did-you-mean.ts';

const NAMES = ['command', 'args', 'env', 'url', 'headers', 'timeoutMs'];

it.each([
  ['comand', 'command'],
  ['commnad', 'command'],
  ['URL', 'url'],
  ['uri', 'url'],
  ['timeout_ms', 'timeoutMs'],
  ['header', 'headers'],
])('takes %s for %s', (word, meant) => {
  expect(closest(word, NAMES)).toBe(meant);
});

it.each(['zebra', 'x', '', 'command'.repeat(20)])('does not guess at %j', (word) => {
  expect(closest(word, NAMES)).toBeUndefined();
});

it('prefers the nearest, and among equals the first', () => {
  expect(closest('tool', ['pool', 'tools', 'tool'])).toBe('tool');
  expect(closest('tool', ['pool', 'cool'])).toBe('pool');
});

it('counts two swapped letters as one edit', () => {
  expect(closest('ulr', ['url'])).toBe('url');
});

it.each(['ordes', 'orders', 'roders', 'xorders', 'ORDERS', 'rder'])(
  'puts orders first for %s among 100,000 names',
  async (word) => {
    const names = Array.from({ length: 100_000 }, (_, at) => `table_${at}_with_a_rather_long_name_of_its_own`);
    const sorted = await within(500, () => nearestFirst(word, [...names, 'orders']));
    expect(sorted[0]).toBe('orders');
    expect(sorted).toHaveLength(100_001);
  },
);

/** Counts the letters that are compared while a task runs. */
function comparedLetters(task: () => void): number {
  const { charCodeAt } = String.prototype;
  let count = 0;
  String.prototype.charCodeAt = function counted(this: string, at: number) {
    count++;
    return charCodeAt.call(this, at);
  };
  try {
    task();
  } finally {
    String.prototype.charCodeAt = charCodeAt;
  }
  return count;
}

it('compares a word with the likely ones of 2,000 long names only', () => {
  const nameAt = (at: number) => `${at}`.padStart(64, 'abcdefgh');
  const names = Array.from({ length: 2_000 }, (_, at) => nameAt(at));
  expect(comparedLetters(() => closest(nameAt(99_999), names))).toBeLessThan(2_000_000);
  const typo = nameAt(1_234).replace('cde', 'ced');
  expect(closest(typo, names)).toBe(nameAt(1_234));
});
