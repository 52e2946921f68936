import type { Json, JsonObject } from './call.ts';
import { endOfString } from './end-of-string.ts';
import { HeddleError } from './errors.ts';
import { isKey, parseKeys } from './escaped-keys.ts';
import { isRawNumber, parseExact } from './exact-numbers.ts';

export interface JsonLimits {
  /** The deepest nesting of arrays and objects. */
  readonly maxDepth?: number;
  readonly maxChars?: number;
  /** `unique` also refuses repeated keys: parsers differ in which of them they keep. */
  readonly keys?: 'unique' | 'any';
  /** `exact` keeps the text of numbers that JavaScript cannot hold, so that they pass through unchanged. */
  readonly numbers?: 'exact';
  /** The most different key names in one text; 20,000 unless given, 100,000 with `any` keys. A name costs more than a value. */
  readonly maxNames?: number;
}

const MAX_DEPTH = 128;
const MAX_CHARS = 64 * 1024 * 1024;
const MAX_NAMES = { unique: 20_000, any: 100_000 } as const;
const MAX_PARTS = 2_000_000;
// A key has at least five characters: `"":0,`.
const KEY_CHARS = 5;
const MAX_SHOWN_CHARS = 80;
const QUOTE = 0x22;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Parses text from outside. Throws INPUT_INVALID when it is not JSON or breaks the limits. */
export function parseJson(text: string, limits: JsonLimits = {}): Json {
  const { maxDepth = MAX_DEPTH, maxChars = MAX_CHARS, keys = 'unique', maxNames = MAX_NAMES[keys] } = limits;
  if (text.length > maxChars) throw refused(`it has ${text.length} characters, and ${maxChars} are allowed`);
  const written = keys === 'unique' ? countWrittenKeys(text) : undefined;
  refuseCostly(text, written ?? text.length / KEY_CHARS, maxNames);
  let value: Json;
  try {
    value = limits.numbers === 'exact' ? parseExact(text) : parseKeys(text);
  } catch (cause) {
    throw refused(cause instanceof Error ? cause.message : 'it cannot be parsed', cause);
  }
  // A text this short cannot be too deep.
  if (keys === 'any' && text.length <= 2 * maxDepth) return value;
  const kept = countKeys(value, 1, { maxDepth, refuseProto: keys === 'unique' });
  // A key written twice is kept once, also in two spellings, so counting is enough.
  const twice = written === undefined || written === kept ? undefined : findRepeatedKey(text);
  if (twice !== undefined) throw refused(`the key "${twice}" is written twice in one object`);
  return value;
}

/** Refuses a text that costs too much to parse: 1 µs for each new name, 0.3 µs and 130 bytes for each object. */
function refuseCostly(text: string, mostNames: number, maxNames: number): void {
  if (mostNames > maxNames && hasMoreNames(text, maxNames))
    throw refused(`it has more than ${maxNames} different keys`);
  if (text.length > MAX_PARTS && countParts(text) > MAX_PARTS) {
    throw refused(`it has more than ${MAX_PARTS} keys, objects and arrays`);
  }
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Serialises a value with sorted keys, so that equal values have the same text and hash. */
export function canonicalJson(value: Json | undefined): string {
  if (Array.isArray(value)) return `[${value.map((one: Json) => canonicalJson(one)).join(',')}]`;
  if (!isObject(value) || isRawNumber(value)) return JSON.stringify(value) ?? 'null';
  const parts = Object.keys(value)
    .filter((key) => value[key] !== undefined)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key])}`);
  return `{${parts.join(',')}}`;
}

interface KeyLimits {
  readonly maxDepth: number;
  readonly refuseProto: boolean;
}

/** Counts the keys of all objects in a value. Refuses deep nesting, and `__proto__`, which would set a prototype when copied. */
function countKeys(value: Json, depth: number, limits: KeyLimits): number {
  if (typeof value !== 'object' || value === null || isRawNumber(value)) return 0;
  if (depth > limits.maxDepth) throw refused(`it is nested deeper than ${limits.maxDepth} levels`);
  let count = 0;
  if (Array.isArray(value)) {
    for (const item of value) count += countKeys(item, depth + 1, limits);
    return count;
  }
  for (const key in value) {
    if (key === '__proto__' && limits.refuseProto) throw refused('it has a key named __proto__');
    count += 1 + countKeys((value as JsonObject)[key] as Json, depth + 1, limits);
  }
  return count;
}

type EndOf = (text: string, start: number) => number;

/** Counts the keys in a text that may be JSON: the strings that a colon follows. */
function countWrittenKeys(text: string): number {
  // The choice is made outside of the loop: V8 moved `includes` into it, which read the whole text for each string.
  return text.includes('\\') ? countKeysBy(endOfString, text) : countKeysBy(endOfPlain, text);
}

const endOfPlain: EndOf = (text, start) => text.indexOf('"', start + 1);

function countKeysBy(endOf: EndOf, text: string): number {
  let count = 0;
  for (let start = text.indexOf('"'); start >= 0; ) {
    const end = endOf(text, start);
    if (end < 0) break;
    if (isKey(text, end)) count++;
    start = text.indexOf('"', end + 1);
  }
  return count;
}

/** Counts the keys, objects and arrays in a text that may be JSON. */
function countParts(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === COLON || isOpening(code)) count++;
    else if (code === QUOTE) {
      at = endOfString(text, at);
      if (at < 0) break;
    }
  }
  return count;
}

/** Returns true if a text has more different keys than allowed. Two spellings of one key count as two. */
function hasMoreNames(text: string, maxNames: number): boolean {
  const names = new Set<string>();
  for (let start = text.indexOf('"'); start >= 0 && names.size <= maxNames; ) {
    const end = endOfString(text, start);
    if (end < 0) break;
    if (isKey(text, end)) names.add(text.slice(start + 1, end));
    start = text.indexOf('"', end + 1);
  }
  return names.size > maxNames;
}

// Not a regular expression: one that reads escapes overflows the stack on a long string.
function findRepeatedKey(text: string): string | undefined {
  const open: (Set<string> | undefined)[] = [];
  const names = new Map<string, string>(); // Each spelling is decoded once.
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (isOpening(code)) open.push(undefined);
    else if (isClosing(code)) open.pop();
    else if (code === QUOTE) {
      const end = endOfString(text, at);
      const key = isKey(text, end) ? nameOf(text.slice(at + 1, end), names) : undefined;
      if (key !== undefined && !isNew(key, open)) return key.slice(0, MAX_SHOWN_CHARS);
      at = end;
    }
  }
  return undefined;
}

const isOpening = (code: number) => code === OPEN_OBJECT || code === OPEN_ARRAY;
const isClosing = (code: number) => code === CLOSE_OBJECT || code === CLOSE_ARRAY;

/** Adds a key to the innermost object. Returns false if the key is already there. */
function isNew(key: string, open: (Set<string> | undefined)[]): boolean {
  const keys = open.at(-1);
  if (keys?.has(key)) return false;
  if (keys) keys.add(key);
  else open[open.length - 1] = new Set([key]);
  return true;
}

function nameOf(spelling: string, names: Map<string, string>): string {
  const known = names.get(spelling);
  if (known !== undefined) return known;
  const name: string = spelling.includes('\\') ? JSON.parse(`"${spelling}"`) : spelling;
  names.set(spelling, name);
  return name;
}

const refused = (reason: string, cause?: unknown) =>
  new HeddleError('INPUT_INVALID', `The JSON cannot be accepted: ${reason}.`, {
    cause,
    fix: 'Send one plain JSON value.',
  });
