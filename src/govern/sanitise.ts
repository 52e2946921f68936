import type { Json, JsonObject } from '../core/call.ts';
import { isRawNumber } from '../core/exact-numbers.ts';
import { REDACTED, redactBeginning, redactText } from '../core/text/redact-text.ts';
import { hasSecretPart, hasSecretWord, redactNamed } from '../core/text/secret-name.ts';

/** A name of one word, or a flag: the next item of a list is its value. */
const ONE_WORD = /^[\w.:$-]{1,128}$/;
/** The member of a pair such as `{name: "Cookie", value: "…"}` that has the value. */
const VALUE_KEYS: ReadonlySet<string> = new Set(['value', 'Value', 'values', 'Values']);
/** The marks of a copy, besides `REDACTED`: a value nested too deep, and the end of a cut text. */
export const DEEPER = '[deeper]';
export const TRUNCATED = '...[truncated]';
const MAX_TEXT_CHARS = 200;
// A secret that begins in the kept part is found as a whole.
const MAX_SEARCHED_CHARS = 512;
const MAX_TOTAL_CHARS = 4096;
const MAX_DEPTH = 8;
// The longest JSON of a number or a bracket with its comma.
const PLAIN_CHARS = 30;
// Even if each character is escaped to six, the JSON stays within MAX_TOTAL_CHARS.
const SURELY_SHORT_CHARS = MAX_TOTAL_CHARS / 6;

/** The size of a copy so far: its JSON has at most six times `most` and at least `least` characters. */
interface Size {
  most: number;
  least: number;
}

/**
 * Prepares arguments for records: redacts values of secret names and secrets in texts, cuts long strings, and limits the
 * total to 4 KB. It stops when it has that much, so its time is bounded.
 */
export function sanitised(input: JsonObject): Json {
  const size = { most: 0, least: 0 };
  const clean = sanitise(input, 0, size);
  if (size.most <= SURELY_SHORT_CHARS) return clean;
  const text = JSON.stringify(clean);
  return text.length <= MAX_TOTAL_CHARS ? clean : `${text.slice(0, MAX_TOTAL_CHARS)}${TRUNCATED}`;
}

function sanitise(value: Json | undefined, depth: number, size: Size): Json {
  if (typeof value === 'string') return counted(cleanText(value), size);
  size.most += PLAIN_CHARS;
  size.least += 1;
  if (typeof value !== 'object' || value === null) return value ?? null;
  if (isRawNumber(value)) return counted(cleanText(value.rawJSON), size);
  if (depth === MAX_DEPTH) return DEEPER;
  if (Array.isArray(value)) return sanitiseList(value, depth, size);
  return sanitiseMembers(value as JsonObject, depth, size);
}

function counted(text: string, size: Size): string {
  size.most += text.length;
  size.least += text.length;
  return text;
}

function cleanText(text: string): string {
  if (text.length <= MAX_TEXT_CHARS) return redacted(text);
  const isCut = text.length > MAX_SEARCHED_CHARS;
  const clean = redactBeginning(text, MAX_SEARCHED_CHARS, redacted);
  return isCut || clean.length > MAX_TEXT_CHARS ? `${clean.slice(0, MAX_TEXT_CHARS)}${TRUNCATED}` : clean;
}

function redacted(text: string): string {
  const clean = redactText(text);
  return clean.includes('=') || /["']\s{0,8}:/.test(clean) ? redactNamed(clean, REDACTED) : clean;
}

// The names of a list of pairs, such as raw headers, are at even positions. Flags are anywhere.
function sanitiseList(list: readonly Json[], depth: number, size: Size): Json {
  const clean: Json[] = [];
  for (let at = 0; at < list.length && size.least <= MAX_TOTAL_CHARS; at++) {
    const before = at === 0 ? undefined : list[at - 1];
    const named = typeof before === 'string' && (at % 2 === 1 || before.startsWith('-')) && namesSecret(before);
    clean.push(named ? counted(REDACTED, size) : sanitise(list[at], depth + 1, size));
  }
  return clean;
}

function sanitiseMembers(members: JsonObject, depth: number, size: Size): Json {
  const clean: Record<string, Json> = {};
  for (const key in members) {
    if (size.least > MAX_TOTAL_CHARS) break;
    const name = counted(cutKey(key), size);
    const value = members[key];
    // A longer name is not searched: its value counts as secret.
    const isSecret =
      key.length > MAX_SEARCHED_CHARS ||
      namesSecretValue(key, value) ||
      (VALUE_KEYS.has(key) && hasSecretName(members));
    const kept = isSecret ? counted(REDACTED, size) : sanitise(value, depth + 1, size);
    // Assigning `__proto__` would set the prototype instead of a key.
    if (name === '__proto__') Object.defineProperty(clean, name, { value: kept, enumerable: true });
    else clean[name] = kept;
  }
  return clean;
}

const cutKey = (key: string): string =>
  key.length > MAX_SEARCHED_CHARS ? `${key.slice(0, MAX_TEXT_CHARS)}${TRUNCATED}` : key;

// `auth: true` and `refresh: null` have no secret.
const namesSecretValue = (name: string, value: Json | undefined): boolean =>
  hasSecretPart(name) || (typeof value !== 'boolean' && value !== null && hasSecretWord(name));

const namesSecret = (text: string): boolean => ONE_WORD.test(text) && (hasSecretPart(text) || hasSecretWord(text));

function hasSecretName(members: JsonObject): boolean {
  for (const key in members) {
    const member = members[key];
    if (typeof member === 'string' && !VALUE_KEYS.has(key) && namesSecret(member)) return true;
  }
  return false;
}
