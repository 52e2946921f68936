/** A set of texts, numbers, booleans and null. */
export interface PlainSet {
  add(value: unknown): void;
  has(value: unknown): boolean;
  size(): number;
}

/**
 * Creates a set. Numbers are kept as text: V8 hashes texts with a seed, and numbers without one. A sender could choose
 * numbers with the same hash, so that each search reads all of them.
 */
export function plainSet(values: readonly unknown[]): PlainSet {
  const others = new Set<unknown>();
  const numbers = new Set<string>();
  const set: PlainSet = {
    add: (value) => void (typeof value === 'number' ? numbers.add(textOf(value)) : others.add(value)),
    has: (value) => (typeof value === 'number' ? numbers.size > 0 && numbers.has(textOf(value)) : others.has(value)),
    size: () => numbers.size + others.size,
  };
  for (const value of values) set.add(value);
  return set;
}

// A text of digits alone would be hashed like the number.
const textOf = (value: number) => `n${value}`;
