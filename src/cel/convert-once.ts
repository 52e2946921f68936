import { type ToNumber, withPlainNumbers } from '../core/exact-numbers.ts';

/** Returns a function that converts the numbers of a value. It converts each object once: several expressions read it. */
export function convertOnce(toNumber: ToNumber): <T>(value: T) => T {
  const known = new WeakMap<object, unknown>();
  return <T>(value: T): T => {
    if (typeof value !== 'object' || value === null) return value;
    const before = known.get(value);
    if (before !== undefined) return before as T;
    const converted = withPlainNumbers(value, toNumber);
    known.set(value, converted);
    return converted as T;
  };
}
