import { isUtf8 } from 'node:buffer';
import type { Json } from '../../core/call.ts';
import { parseExact, type RawNumber, withPlainNumbers } from '../../core/exact-numbers.ts';
import type { SyntaxNode } from '../meter.ts';
import { walk } from '../syntax.ts';
import { areEqual, compareScalars } from './compare-values.ts';
import {
  NO_SUCH_DOUBLE,
  NO_SUCH_DURATION,
  NO_SUCH_INTEGER,
  NO_SUCH_TEXT,
  NO_SUCH_TIME,
  NOT_A_NUMBER,
} from './computation-failure.ts';
import { entryOf, isMap, keyOf, makeMap } from './map-values.ts';
import { exactInteger, int64, MIXED, type MixedOperator, type Numeric } from './mixed-numbers.ts';

/** Evaluates a checked node from its operands. The evaluator passes the node and itself as the last two arguments. */
type Handle = (left: unknown, right: unknown, node: unknown, evaluator: unknown) => unknown;

/** A node after its types are checked. */
interface CheckedNode extends SyntaxNode {
  handle: Handle;
  readonly checkedType?: { readonly name: string };
  setMeta(key: 'evaluate', evaluate: unknown): void;
}

interface Evaluator {
  run(node: SyntaxNode, context: unknown): unknown;
  createError(code: string, summary: string, node: unknown): Error;
}

const INTEGER_TEXT = /^-?\d{1,20}$/;
const DOUBLE_TEXT = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;

const TIME_TEXT = /^(\d{4}-\d\d-\d\d)T(?:[01]\d|2[0-3])(?::[0-5]\d){2}(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/;
const DURATION_TEXT = /^[+-]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|ms|s|m|h))+$/;

/**
 * Replaces operators of a checked expression. Those of the evaluator round or overflow without an error. They compare
 * numbers of different types wrongly inside of lists and maps, and take the number 1 for the key "1".
 */
export function useExactOperators(root: SyntaxNode): void {
  walk(root, (node) => {
    const checked = node as CheckedNode;
    if (node.op === 'map') checked.setMeta('evaluate', hasPlainKeys(node) ? evaluatePlainMap : evaluateMap);
    const replace = REPLACEMENTS.get(node.op);
    if (replace && checked.handle) checked.handle = replace(checked.handle, checked);
  });
}

type Replace = (original: Handle, node: CheckedNode) => Handle;

type Compare = (left: Numeric, right: Numeric) => boolean;

// JavaScript compares a bigint and a number exactly.
const ordered =
  (compare: Compare, test: (order: number) => boolean): Replace =>
  (original) =>
  (left, right, node, evaluator) => {
    if (isNumber(left) && isNumber(right)) {
      if (Number.isNaN(left) || Number.isNaN(right)) throw NOT_A_NUMBER;
      return compare(left, right);
    }
    const order = compareScalars(left, right);
    return order === undefined ? original(left, right, node, evaluator) : test(order);
  };

const computed =
  (operator: MixedOperator): Replace =>
  (original, { args }) => {
    // Doubles of a rule's own are computed as CEL says.
    if ((args as readonly CheckedNode[]).every(({ checkedType }) => checkedType?.name === 'double')) return original;
    return (left, right, node, evaluator) => {
      const isMixed = typeof left === 'number' ? isNumber(right) : typeof right === 'number' && isNumber(left);
      if (isMixed) return MIXED[operator](left as number, right as number);
      const result = original(left, right, node, evaluator);
      return typeof result === 'bigint' ? int64(result) : result;
    };
  };

const isNumber = (value: unknown): value is Numeric => typeof value === 'number' || typeof value === 'bigint';

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null;

const equality =
  (expected: boolean): Replace =>
  (original) =>
  (left, right, node, evaluator) => {
    if (typeof left === 'string' && typeof right === 'string') return (left === right) === expected;
    const order = compareScalars(left, right);
    if (order !== undefined) return (order === 0) === expected;
    // The evaluator compares null and bool, and refuses different types.
    if (!isObject(left) || !isObject(right)) return original(left, right, node, evaluator);
    return areEqual(left, right) === expected;
  };

const contained: Replace = (original) => (item, all, node, evaluator) => {
  if (Array.isArray(all)) return all.some((other) => areEqual(item, other));
  if (isMap(all)) return entryOf(all, item) !== undefined;
  return original(item, all, node, evaluator);
};

const accessed: Replace = (original) => (map, key, node, evaluator) => {
  if (!isMap(map) || typeof key === 'string') return original(map, key, node, evaluator);
  // An object of JSON has no such key. The evaluator names the place, or returns an empty optional.
  return map instanceof Map ? original(map, keyOf(key), node, evaluator) : original({}, '', node, evaluator);
};

const negated: Replace = (original) => (value, node, evaluator, rest) => {
  const result = original(value, node, evaluator, rest);
  return typeof result === 'bigint' ? int64(result) : result;
};

const converted: Replace = (original, { args }) => {
  const check = CONVERSIONS.get((args as readonly unknown[])[0] as string);
  if (!check) return original;
  return (values, node, evaluator, rest) => {
    check((values as readonly unknown[])[0]);
    return original(values, node, evaluator, rest);
  };
};

/** Replaces methods. The evaluator calls them with the receiver and the arguments in one list. */
function method(original: Handle, { args }: CheckedNode): Handle {
  const replacement = METHODS.get((args as readonly unknown[])[0] as string);
  if (!replacement) return original;
  return (values, evaluator, node, rest) =>
    replacement((values as readonly unknown[])[0]) ?? original(values, evaluator, node, rest);
}

const METHODS: ReadonlyMap<string, (receiver: unknown) => unknown> = new Map([
  // The evaluator also changes other letters: the Kelvin sign became k.
  ['lowerAscii', (text) => textOf(text)?.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())],
  ['upperAscii', (text) => textOf(text)?.replace(/[a-z]+/g, (letters) => letters.toUpperCase())],
  ['json', (bytes) => (bytes instanceof Uint8Array ? parseNumbers(Buffer.from(bytes).toString()) : undefined)],
]);

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** Parses JSON. An integer of 64 bits stays exact. Any other number that a double cannot hold cannot be computed. */
const parseNumbers = (text: string): Json =>
  withPlainNumbers(parseExact(text), (source) => exactInteger(source) ?? (parseExact(source) as unknown as RawNumber));

const CONVERSIONS: ReadonlyMap<string, (value: unknown) => void> = new Map([
  ['int', requireInteger],
  ['uint', requireInteger],
  ['double', requireDouble],
  ['string', requireText],
  ['timestamp', requireTime],
  ['duration', requireDuration],
]);

function requireInteger(value: unknown): void {
  const isInteger =
    typeof value === 'string' ? INTEGER_TEXT.test(value) : typeof value !== 'number' || Math.abs(value) < 2 ** 63;
  if (!isInteger) throw NO_SUCH_INTEGER;
}

function requireDouble(value: unknown): void {
  if (typeof value === 'string' && !DOUBLE_TEXT.test(value)) throw NO_SUCH_DOUBLE;
}

/** The evaluator also reads dates as JavaScript does: February 30 as March 2, and a text without a zone as local time. */
function requireTime(value: unknown): void {
  if (typeof value !== 'string') return;
  const [, day] = TIME_TEXT.exec(value) ?? [];
  const midnight = new Date(`${day}T00:00:00Z`);
  if (Number.isNaN(midnight.getTime()) || !midnight.toISOString().startsWith(`${day}T`)) throw NO_SUCH_TIME;
}

function requireDuration(value: unknown): void {
  if (typeof value === 'string' && !DURATION_TEXT.test(value)) throw NO_SUCH_DURATION;
}

function requireText(value: unknown): void {
  if (value instanceof Uint8Array && !isUtf8(value)) throw NO_SUCH_TEXT;
}

const REPLACEMENTS: ReadonlyMap<string, Replace> = new Map([
  ['==', equality(true)],
  ['!=', equality(false)],
  ['in', contained],
  [
    '<',
    ordered(
      (left, right) => left < right,
      (order) => order < 0,
    ),
  ],
  [
    '<=',
    ordered(
      (left, right) => left <= right,
      (order) => order <= 0,
    ),
  ],
  [
    '>',
    ordered(
      (left, right) => left > right,
      (order) => order > 0,
    ),
  ],
  [
    '>=',
    ordered(
      (left, right) => left >= right,
      (order) => order >= 0,
    ),
  ],
  ['+', computed('+')],
  ['-', computed('-')],
  ['*', computed('*')],
  ['/', computed('/')],
  ['%', computed('%')],
  ['-_', negated],
  ['[]', accessed],
  ['[?]', accessed],
  ['call', converted],
  ['rcall', method],
]);

function evaluateMap(evaluator: Evaluator, { args }: SyntaxNode, context: unknown): object {
  const entries = args as MapEntries;
  return makeMap(entries.map(([key, value]) => [evaluator.run(key, context), evaluator.run(value, context)]));
}

type MapEntries = readonly (readonly [SyntaxNode, SyntaxNode])[];

/** Returns true if the keys of a map are different literal texts, none of which has a meaning for JavaScript. */
function hasPlainKeys({ args }: SyntaxNode): boolean {
  const keys = (args as MapEntries).map(([key]) => (key.op === 'value' ? key.args : undefined));
  const isPlain = keys.every((key) => typeof key === 'string' && key !== '__proto__');
  return isPlain && new Set(keys).size === keys.length;
}

function evaluatePlainMap(evaluator: Evaluator, { args }: SyntaxNode, context: unknown): object {
  const made: Record<string, unknown> = {};
  for (const [key, value] of args as MapEntries) {
    made[evaluator.run(key, context) as string] = evaluator.run(value, context);
  }
  return made;
}
