import type { Json } from './call.ts';
import { endOfString } from './end-of-string.ts';
import { parseKeys } from './escaped-keys.ts';

/** A number that JavaScript cannot hold, as its sender wrote it. `JSON.stringify` writes it back unchanged. */
export type RawNumber = { readonly rawJSON: string };

// Part of the language since V8 11.4, and not yet of TypeScript's library.
interface SourceJson {
  rawJSON(text: string): Json;
  isRawJSON(value: unknown): boolean;
}
const json = JSON as unknown as SourceJson;

// Integers of 16 digits or more, and exponents of three. Both may also match inside a string: then parsing is slower.
// Two patterns: one with both alternatives takes three times as long.
const LONG_INTEGER = /[:,[ \t\n\r]-?\d{16}|^-?\d{16}/;
const LARGE_EXPONENT = /\d[eE][-+]?\d{3,}(?:[,\]} \t\n\r]|$)/;
// The same numbers whole, behind the character before them. Without exponents the search is twice as fast.
const LONG_CANDIDATES = /[:,[ \t\n\r](-?\d{16}[-+.\deE]*)/g;
const ALL_CANDIDATES = /[:,[ \t\n\r](-?\d(?:\d{15}[-+.\deE]*|[.\d]*[eE][-+]?\d{3,}))/g;
// Longer numbers are kept as they are: comparing them costs more.
const MAX_COMPARED_CHARS = 40;
const MAX_EXACT = 100_000;
const TOO_MANY = `it has more than ${MAX_EXACT} numbers that JavaScript cannot hold, or may not hold`;
// Written by JavaScript digit by digit, up to this length.
const INTEGER = /^-?[1-9]\d{0,19}$/;
const NUMBER = /^(-?)(0|[1-9]\d*)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** Set with the first raw number of the process. Until then no value has to be searched for one. */
let isAnyRaw = false;

/**
 * Parses JSON. Integers over 2^53 and exponents out of range become raw numbers. Fractions are rounded, as everywhere.
 * Texts without such numbers cost a search with two patterns: 0.2 µs for a small call, 50 µs for 100 KB.
 * Throws RangeError for more than 100,000 raw numbers, or as many comparisons: each costs 1.6 µs.
 */
export function parseExact(text: string): Json {
  const hasExponent = LARGE_EXPONENT.test(text);
  if (!hasExponent && !LONG_INTEGER.test(text)) return parseKeys(text);
  const { marked, sources } = markUnsafe(` ${text}`, hasExponent ? ALL_CANDIDATES : LONG_CANDIDATES);
  if (sources.length === 0) return parseKeys(text);
  let value: Json;
  try {
    value = parseKeys(marked);
  } catch (thrown) {
    if (!(thrown instanceof SyntaxError)) throw thrown;
    return JSON.parse(text); // Throws as well, and names the place in the text as it was sent.
  }
  isAnyRaw = true;
  return withRawNumbers(value, sources);
}

interface Marked {
  readonly marked: string;
  /** The replaced numbers as they were written, by the index in their mark. */
  readonly sources: readonly string[];
}

/**
 * Replaces each number that JavaScript cannot hold by a mark: `[1e999,<index>]`. No other array then holds Infinity:
 * numbers that would become Infinity are all replaced. An array is valid JSON exactly where a number is.
 */
function markUnsafe(text: string, candidates: RegExp): Marked {
  const sources: string[] = [];
  const pieces: string[] = [];
  let written = 0;
  const stringEnd = stringsIn(text);
  const isUnsafe = numberTest();
  candidates.lastIndex = 0;
  for (let match = candidates.exec(text); match; match = candidates.exec(text)) {
    const [{ length }, source = ''] = match;
    const outside = stringEnd(match.index);
    if (outside > match.index) candidates.lastIndex = outside;
    if (outside > match.index || !isUnsafe(source)) continue;
    const end = match.index + length;
    pieces.push(text.slice(written, end - source.length), `[1e999,${sources.length}]`);
    written = end;
    if (sources.push(source) > MAX_EXACT) throw new RangeError(TOO_MANY);
  }
  return { marked: pieces.join('') + text.slice(written), sources };
}

/** Returns a function that gives the end of the last string begun before a place. Places are given in ascending order. */
function stringsIn(text: string): (at: number) => number {
  let quote = text.indexOf('"');
  let end = -1;
  return (at) => {
    while (quote >= 0 && quote < at) {
      end = endOfString(text, quote);
      if (end < 0) end = text.length; // No JSON: parsing says so.
      quote = text.indexOf('"', end + 1);
    }
    return end;
  };
}

/** A parsed array or object. Raw numbers are put into it before any other code has it. */
interface Holder {
  [key: string | number]: unknown;
}

/** Puts raw numbers in the place of their marks. No recursion: the depth of the value is not checked yet. */
function withRawNumbers(value: Json, sources: readonly string[]): Json {
  const root = [value];
  const open: Holder[] = [root as unknown as Holder];
  let left = sources.length;
  function visit(holder: Holder, key: string | number): void {
    const item = holder[key] as Holder | null;
    if (typeof item !== 'object' || item === null) return;
    if (item[0] !== Number.POSITIVE_INFINITY) open.push(item);
    else {
      holder[key] = json.rawJSON(sources[item[1] as number] as string);
      left--;
    }
  }
  for (let holder = open.pop(); holder && left > 0; holder = open.pop()) {
    if (Array.isArray(holder)) for (let at = 0; at < holder.length; at++) visit(holder, at);
    else for (const key in holder) visit(holder, key);
  }
  return root[0] as Json;
}

/** Returns a test whether JavaScript would write another number: 1.0 and 1 are the same, 2^53 + 1 and 2^53 are not. */
function numberTest(): (source: string) => boolean {
  let compared = 0;
  return (source) => {
    const value = Number(source);
    const written = String(value);
    if (source === written) return false;
    if (INTEGER.test(source)) return true;
    if (++compared > MAX_EXACT) throw new RangeError(TOO_MANY);
    if (!NUMBER.test(source)) return false; // No JSON: parsing says so.
    if (source.length > MAX_COMPARED_CHARS || !Number.isFinite(value)) return true;
    return normalised(source) !== normalised(written);
  };
}

/** Returns a number of at most 40 characters as its digits and an exponent. */
function normalised(source: string): string {
  const [, sign, whole = '', fraction = '', exponent = '0'] = NUMBER.exec(source) ?? [];
  const digits = (whole + fraction).replace(/^0+/, '');
  const significant = digits.replace(/0+$/, '');
  if (significant === '') return '0';
  return `${sign}${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`;
}

export const isRawNumber = (value: unknown): value is RawNumber => json.isRawJSON(value);

/** Converts the source of a raw number. */
export type ToNumber = (source: string) => number | bigint | string | RawNumber;

/** Returns the value with the nearest JavaScript numbers, for code that computes; itself when it holds no raw number. */
export function withPlainNumbers<T>(value: T, toNumber: ToNumber = nearestNumber): T {
  return isAnyRaw ? (plain(value, toNumber) as T) : value;
}

/** The nearest finite number: schema checks take Infinity for no number at all. */
export const nearestNumber = (source: string): number =>
  Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, Number(source)));

/** Returns the value with the digits of raw numbers as text, for people and programs that look at them. */
export const withNumbersAsText = <T>(value: T): T => withPlainNumbers(value, (source) => source);

/** Copies only what holds a raw number. Looks at every part: copies made on the way carry no mark. */
function plain(value: unknown, toNumber: ToNumber): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (isRawNumber(value)) return toNumber(value.rawJSON);
  if (Array.isArray(value)) return plainArray(value, toNumber);
  let copy: Holder | undefined;
  for (const key in value) {
    const item = (value as Holder)[key];
    const changed = plain(item, toNumber);
    if (changed === item) continue;
    copy ??= Object.fromEntries(Object.entries(value)); // No spread: a key named __proto__ stays a key.
    copy[key] = changed;
  }
  return copy ?? value;
}

function plainArray(items: readonly unknown[], toNumber: ToNumber): readonly unknown[] {
  let copy: unknown[] | undefined;
  for (let at = 0; at < items.length; at++) {
    const changed = plain(items[at], toNumber);
    if (changed === items[at]) continue;
    copy ??= [...items];
    copy[at] = changed;
  }
  return copy ?? items;
}
