import type { Json, JsonObject } from '../core/call.ts';
import { isRawNumber } from '../core/exact-numbers.ts';

const SECRET_KEY = /password|secret|token|api[-_ ]?key|authorization/i;
/** The marks of a copy: a redacted value, a value nested too deep, and the end of a cut text. */
export const REDACTED_VALUE = '[REDACTED]';
export const DEEPER = '[deeper]';
export const TRUNCATED = '...[truncated]';
const MAX_TEXT_CHARS = 200;
const MAX_TOTAL_CHARS = 4096;
const MAX_DEPTH = 8;
// The longest JSON of a number or a bracket with its comma.
const PLAIN_CHARS = 30;
// Even if each character is escaped to six, the JSON stays within MAX_TOTAL_CHARS.
const SURELY_SHORT_CHARS = MAX_TOTAL_CHARS / 6;

/** Prepares arguments for records: redacts values of secret names, cuts long strings, and limits the total to 4 KB. */
export function sanitised(input: JsonObject): Json {
  const seen = { chars: 0 };
  const clean = sanitise(input, 0, seen);
  if (seen.chars <= SURELY_SHORT_CHARS) return clean;
  const text = JSON.stringify(clean);
  return text.length <= MAX_TOTAL_CHARS ? clean : `${text.slice(0, MAX_TOTAL_CHARS)}${TRUNCATED}`;
}

const shortened = (text: string): string =>
  text.length > MAX_TEXT_CHARS ? `${text.slice(0, MAX_TEXT_CHARS)}${TRUNCATED}` : text;

function sanitise(value: Json | undefined, depth: number, seen: { chars: number }): Json {
  seen.chars += typeof value === 'string' ? value.length : PLAIN_CHARS;
  if (typeof value === 'string') return shortened(value);
  if (typeof value !== 'object' || value === null) return value ?? null;
  if (isRawNumber(value)) return shortened(value.rawJSON);
  if (depth === MAX_DEPTH) return DEEPER;
  if (Array.isArray(value)) return value.map((item: Json) => sanitise(item, depth + 1, seen));
  const clean: Record<string, Json> = {};
  for (const key in value) {
    seen.chars += key.length;
    const kept = SECRET_KEY.test(key) ? REDACTED_VALUE : sanitise((value as JsonObject)[key], depth + 1, seen);
    // Assigning `__proto__` would set the prototype instead of a key.
    if (key === '__proto__') Object.defineProperty(clean, key, { value: kept, enumerable: true });
    else clean[key] = kept;
  }
  return clean;
}
