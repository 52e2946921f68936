import type { Json, JsonObject } from './call.ts';
import { HeddleError } from './errors.ts';

export interface JsonLimits {
  /** Arrays and objects inside one another. */
  readonly maxDepth?: number;
  readonly maxChars?: number;
  /** `unique` also refuses a key that is written twice: what we check must be what the next reader sees. */
  readonly keys?: 'unique' | 'any';
}

const MAX_DEPTH = 128;
const MAX_CHARS = 64 * 1024 * 1024;
const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Parses text from outside. Throws INPUT_INVALID when it is not JSON or breaks the limits. */
export function parseJson(text: string, limits: JsonLimits = {}): Json {
  const { maxDepth = MAX_DEPTH, maxChars = MAX_CHARS, keys = 'unique' } = limits;
  if (text.length > maxChars) throw refused(`it has ${text.length} characters, and ${maxChars} are allowed`);
  let value: Json;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw refused(cause instanceof Error ? cause.message : 'it cannot be parsed', cause);
  }
  // Too short to be too deep: nothing to look for when keys may repeat.
  if (keys === 'unique' || text.length > 2 * maxDepth) checkStructure(text, maxDepth, keys === 'unique');
  return value;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** One text for one value, whatever order its keys were written in: the thing to hash. */
export function canonicalJson(value: Json | undefined): string {
  if (Array.isArray(value)) return `[${value.map((one: Json) => canonicalJson(one)).join(',')}]`;
  if (!isObject(value)) return JSON.stringify(value) ?? 'null';
  const parts = Object.keys(value)
    .filter((key) => value[key] !== undefined)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key])}`);
  return `{${parts.join(',')}}`;
}

/** Walks text that is known to be JSON once, without building anything but the sets of keys. */
function checkStructure(text: string, maxDepth: number, uniqueKeys: boolean): void {
  const open: (Set<string> | undefined)[] = []; // The keys so far of each object we are in; undefined for an array.
  let keyNext = false;
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE: {
        const end = endOfString(text, at);
        if (keyNext && uniqueKeys) noteKey(open.at(-1), text.slice(at, end + 1));
        keyNext = false;
        at = end;
        break;
      }
      case OPEN_OBJECT:
      case OPEN_ARRAY:
        keyNext = text.charCodeAt(at) === OPEN_OBJECT;
        open.push(keyNext ? new Set() : undefined);
        if (open.length > maxDepth) throw refused(`it is nested deeper than ${maxDepth} levels`);
        break;
      case CLOSE_OBJECT:
      case CLOSE_ARRAY:
        open.pop();
        keyNext = false;
        break;
      case COMMA:
        keyNext = open.at(-1) !== undefined;
    }
  }
}

function noteKey(seen: Set<string> | undefined, quoted: string): void {
  const key: string = quoted.includes('\\') ? JSON.parse(quoted) : quoted.slice(1, -1);
  if (key === '__proto__') throw refused('it has a key named __proto__');
  if (seen?.has(key)) throw refused(`the key "${key.slice(0, 80)}" is written twice in one object`);
  seen?.add(key);
}

function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end;
}

function isEscaped(text: string, at: number): boolean {
  let backslashes = 0;
  while (text.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes++;
  return backslashes % 2 === 1;
}

const refused = (why: string, cause?: unknown) =>
  new HeddleError('INPUT_INVALID', `The JSON cannot be accepted: ${why}.`, {
    cause,
    fix: 'Send one plain JSON value.',
  });
