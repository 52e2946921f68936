import { Duration } from '@marcbachmann/cel-js/evaluator';
import { NOT_A_NUMBER } from './computation-failure.ts';
import { entriesOf, entryOf, isMap } from './map-values.ts';
import { numericOf } from './mixed-numbers.ts';

const NANOS_PER_SECOND = 1_000_000_000n;
const SURROGATES = 0xd800;

/** Returns true if two values are equal. Numbers are compared exactly by value, whatever their types. */
export function areEqual(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (typeof left === 'string') return false;
  const order = compareScalars(left, right);
  if (order !== undefined) return order === 0;
  if (Array.isArray(left)) {
    return Array.isArray(right) && left.length === right.length && left.every((item, at) => areEqual(item, right[at]));
  }
  if (isMap(left)) return isMap(right) && areEqualMaps(left, right);
  if (left instanceof Uint8Array) return right instanceof Uint8Array && Buffer.compare(left, right) === 0;
  if (isOptional(left)) return isOptional(right) && areEqual(left.orValue(undefined), right.orValue(undefined));
  return false;
}

function areEqualMaps(left: object, right: object): boolean {
  if (!(left instanceof Map) && !(right instanceof Map)) return areEqualObjects(left as JsonMap, right as JsonMap);
  const entries = entriesOf(left);
  if (entries.length !== entriesOf(right).length) return false;
  return entries.every(([key, value]) => {
    const other = entryOf(right, key);
    return other !== undefined && areEqual(value, other);
  });
}

type JsonMap = Readonly<Record<string, unknown>>;

/** Compares objects of JSON, without a list of their entries. */
function areEqualObjects(left: JsonMap, right: JsonMap): boolean {
  const keys = Object.keys(left);
  if (keys.length !== Object.keys(right).length) return false;
  return keys.every((key) => Object.hasOwn(right, key) && areEqual(left[key], right[key]));
}

interface OptionalValue {
  orValue(otherwise: unknown): unknown;
}

// The evaluator does not export the class. Values of JSON are plain objects.
const isOptional = (value: unknown): value is OptionalValue =>
  typeof value === 'object' && value !== null && 'orValue' in value && !isMap(value);

/** Compares two numbers, texts, times or durations. Returns undefined for other pairs. Throws if a number is NaN. */
export function compareScalars(left: unknown, right: unknown): number | undefined {
  const number = numericOf(left);
  if (number !== undefined) {
    const other = numericOf(right);
    return other === undefined ? undefined : compareNumbers(number, other);
  }
  if (typeof left === 'string') return typeof right === 'string' ? compareTexts(left, right) : undefined;
  if (left instanceof Date) return right instanceof Date ? compareNumbers(left.getTime(), right.getTime()) : undefined;
  if (!(left instanceof Duration) || !(right instanceof Duration)) return undefined;
  return compareNumbers(nanosOf(left), nanosOf(right));
}

// JavaScript compares a bigint and a number exactly.
function compareNumbers(left: number | bigint, right: number | bigint): number {
  if (left < right) return -1;
  if (left > right) return 1;
  // biome-ignore lint/suspicious/noDoubleEquals: a bigint and a number may be equal.
  if (left == right) return 0;
  throw NOT_A_NUMBER;
}

const nanosOf = ({ seconds, nanos }: Duration): bigint => BigInt(seconds) * NANOS_PER_SECOND + BigInt(nanos);

/** Compares by code points, as CEL does. JavaScript orders U+10000 and above before U+E000. */
function compareTexts(left: string, right: string): number {
  if (left === right) return 0;
  const length = Math.min(left.length, right.length);
  let at = 0;
  while (at < length && left.charCodeAt(at) === right.charCodeAt(at)) at++;
  if (at === length) return left.length - right.length;
  return rankOf(left.charCodeAt(at)) - rankOf(right.charCodeAt(at));
}

/** Ranks surrogates above all other units. */
const rankOf = (unit: number): number => (unit >= SURROGATES && unit < 0xe000 ? unit + 0x10000 : unit);
