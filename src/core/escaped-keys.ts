import type { Json } from './call.ts';
import { endOfString } from './end-of-string.ts';

const COLON = 0x3a;
const SPACE = 0x20;
// No text from outside has it: it is never sent.
const STAND_IN = `key ${crypto.randomUUID()} `;

/**
 * Parses JSON. V8 takes a key with escapes for the key of an earlier text that equals its first characters, also of
 * another caller (nodejs/node#63785). So it gets no key with escapes.
 */
export function parseKeys(text: string): Json {
  const keys = escapedKeys(text);
  if (keys.length === 0) return JSON.parse(text);
  const names: string[] = [];
  const pieces: string[] = [];
  const known = new Map<string, string>(); // Each spelling is decoded once.
  let written = 0;
  try {
    for (const { start, end } of keys) {
      const spelling = text.slice(start, end);
      const plain = known.get(spelling) ?? plainSpelling(JSON.parse(spelling), names);
      known.set(spelling, plain);
      pieces.push(text.slice(written, start), plain);
      written = end;
    }
    const value: Json = JSON.parse(pieces.join('') + text.slice(written));
    return names.length === 0 ? value : withNames(value, names);
  } catch {
    return JSON.parse(text); // Throws as well, and names the place in the text as it was sent.
  }
}

interface EscapedKey {
  /** The place of its first quote. */
  readonly start: number;
  /** The place behind its last quote. */
  readonly end: number;
}

/** Finds the keys with escapes. Looks only at strings with a backslash. */
function escapedKeys(text: string): readonly EscapedKey[] {
  const found: EscapedKey[] = [];
  for (let at = text.indexOf('\\'); at >= 0; ) {
    const end = endOfString(text, at);
    if (end < 0) break;
    if (isKey(text, end)) found.push({ start: text.lastIndexOf('"', at), end: end + 1 });
    at = text.indexOf('\\', end + 1);
  }
  return found;
}

/** Returns true if a colon follows the string that ends here. */
export function isKey(text: string, end: number): boolean {
  let next = end + 1;
  while (text.charCodeAt(next) <= SPACE) next++;
  return text.charCodeAt(next) === COLON;
}

/** Returns a name as JSON without escapes: itself, or a stand-in with its index in `names`. */
function plainSpelling(name: string, names: string[]): string {
  const spelling = JSON.stringify(name);
  return spelling.includes('\\') ? `"${STAND_IN}${names.push(name) - 1}"` : spelling;
}

/** A parsed array or object. Its keys are renamed before any other code has it. */
type Holder = Record<string, unknown>;

/** Puts names in the place of their stand-ins. No recursion: the depth of the value is not checked yet. */
function withNames(value: Json, names: readonly string[]): Json {
  const open: unknown[] = [value];
  while (open.length > 0) {
    const holder = open.pop();
    if (typeof holder !== 'object' || holder === null) continue;
    if (!Array.isArray(holder)) rename(holder as Holder, names);
    for (const item of Object.values(holder)) if (typeof item === 'object' && item !== null) open.push(item);
  }
  return value;
}

/** Renames keys of one object in place. All keys are written again, so that their order stays. */
function rename(holder: Holder, names: readonly string[]): void {
  const entries = Object.entries(holder);
  if (!entries.some(([key]) => key.startsWith(STAND_IN))) return;
  for (const [key] of entries) delete holder[key];
  for (const [key, value] of entries) {
    const name = key.startsWith(STAND_IN) ? (names[Number(key.slice(STAND_IN.length))] as string) : key;
    // An assignment to __proto__ would set the prototype.
    Object.defineProperty(holder, name, { value, writable: true, enumerable: true, configurable: true });
  }
}
