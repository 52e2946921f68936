import type { Json } from '../../core/call.ts';
import { isRawNumber } from '../../core/exact-numbers.ts';
import { parseJson } from '../../core/json.ts';

const DECIMAL = /^-?\d+(?:\.\d+)?$/;

/** Returns a number that JSON writes with the same value; else the text. */
export function exactNumber(text: string): Json {
  if (!DECIMAL.test(text)) return text; // NaN, Infinity.
  const value = Number(text);
  if (Math.abs(value) > Number.MAX_SAFE_INTEGER) return text;
  const shortest = text.includes('.') ? text.replace(/\.?0+$/, '') : text;
  return String(value) === shortest ? value : text;
}

/** Returns the value of a JSON text. A text with repeated keys or numbers beyond JavaScript stays text. */
export function exactJson(text: string): Json {
  try {
    const value = parseJson(text, { numbers: 'exact' });
    return holdsRawNumber(value) || hasLongFraction(text) ? text : value;
  } catch {
    return text;
  }
}

const STRINGS = /"(?:[^"\\]|\\.)*"/g;
const LONG_FRACTIONS = /-?\d*\.?\d*\d{14}[-+.\deE]*/g;

/** Returns true if a fraction in a JSON text would be rounded. */
function hasLongFraction(text: string): boolean {
  if (!/\d{14}/.test(text)) return false;
  const numbers = text.replace(STRINGS, '""').match(LONG_FRACTIONS) ?? [];
  return numbers.some((number) => typeof exactNumber(number) !== 'number');
}

function holdsRawNumber(value: Json): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (isRawNumber(value)) return true;
  return Object.values(value).some((item) => holdsRawNumber(item as Json));
}
