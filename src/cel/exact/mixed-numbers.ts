import { UnsignedInt } from '@marcbachmann/cel-js/evaluator';
import { DIVIDED_BY_ZERO, OVER_64_BITS, ROUNDED } from './computation-failure.ts';

export const MIN_INT64 = -(2n ** 63n);
export const MAX_INT64 = 2n ** 63n - 1n;
export const MAX_UINT64 = 2n ** 64n - 1n;
const DECIMAL = /^(-?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/;
const MAX_INTEGER_DIGITS = 20;

/** A number as an evaluation has it: JSON gives doubles, and bigints for integers over 2^53. */
export type Numeric = number | bigint;

/**
 * Returns an integer of 64 bits exactly, by its value: `12345678901234567890e-1` is one. It is a bigint over 2^53. Returns
 * undefined for the source of any other number.
 */
export function exactInteger(source: string): Numeric | undefined {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = DECIMAL.exec(source) ?? [];
  const digits = whole + fraction;
  let [start, end] = [0, digits.length];
  while (start < end && digits[start] === '0') start++;
  while (end > start && digits[end - 1] === '0') end--;
  if (start === end) return digits === '' ? undefined : 0;
  const zeros = Number(exponent) - fraction.length + digits.length - end;
  if (zeros < 0 || end - start + zeros > MAX_INTEGER_DIGITS) return undefined;
  const value = BigInt(`${sign}${digits.slice(start, end)}${'0'.repeat(zeros)}`);
  if (value < MIN_INT64 || value > MAX_UINT64) return undefined;
  return isSafe(value) ? Number(value) : value;
}

/** Returns true for the source of a number between 2^53 and 2^64 that is no integer. No double has its value. */
export function isRoundedFraction(source: string): boolean {
  const double = Math.abs(Number(source));
  return double > Number.MAX_SAFE_INTEGER && double < 2 ** 64 && exactInteger(source) === undefined;
}

/** Returns the number of a value of any type of number; undefined for other values. */
export function numericOf(value: unknown): Numeric | undefined {
  if (typeof value === 'number' || typeof value === 'bigint') return value;
  return value instanceof UnsignedInt ? value.valueOf() : undefined;
}

export type MixedOperator = '+' | '-' | '*' | '/' | '%';
type Computed = (left: Numeric, right: Numeric) => Numeric;

/**
 * Computes with doubles and ints of JSON. Integers stay exact up to 64 bits. Throws ComputationFailure if the result
 * would be rounded, is too large or divides by zero.
 */
export const MIXED: Readonly<Record<MixedOperator, Computed>> = {
  '+': exactly(
    (left, right) => left + right,
    (left, right) => left + right,
  ),
  '-': exactly(
    (left, right) => left - right,
    (left, right) => left - right,
  ),
  '*': exactly(
    (left, right) => left * right,
    (left, right) => left * right,
  ),
  '/': (left, right) => {
    if (Number(right) === 0) throw DIVIDED_BY_ZERO;
    return toDouble(left) / toDouble(right);
  },
  '%': (left, right) => {
    if (Number(right) === 0) throw DIVIDED_BY_ZERO;
    if (isSafe(left) && isSafe(right)) return Number(left) % Number(right);
    return isInteger(left) && isInteger(right) ? BigInt(left) % BigInt(right) : toDouble(left) % toDouble(right);
  },
};

function exactly(
  inDoubles: (left: number, right: number) => number,
  inIntegers: (left: bigint, right: bigint) => bigint,
): Computed {
  return (left, right) => {
    const value = inDoubles(Number(left), Number(right));
    if (Number.isSafeInteger(value) && isSafe(left) && isSafe(right)) return value;
    if (isInteger(left) && isInteger(right)) return int64(inIntegers(BigInt(left), BigInt(right)));
    toDouble(left);
    toDouble(right);
    return value;
  };
}

/** Returns an integer of 64 bits. Throws for a larger one. */
export function int64(value: bigint): bigint {
  if (value < MIN_INT64 || value > MAX_INT64) throw OVER_64_BITS;
  return value;
}

const isSafe = (value: Numeric): boolean => Number.isSafeInteger(Number(value));
const isInteger = (value: Numeric): boolean =>
  typeof value === 'bigint' || (Number.isInteger(value) && Math.abs(value) < 2 ** 64);

/** Returns the double of a number. Throws for an integer that it would round. */
function toDouble(value: Numeric): number {
  if (typeof value === 'bigint' && !isSafe(value)) throw ROUNDED;
  return Number(value);
}
