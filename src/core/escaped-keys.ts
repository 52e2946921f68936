import type { Json } from './call.ts';
import { endOfString } from './end-of-string.ts';

const COLON = 0x3a;
const SPACE = 0x20;
// No text from outside has it: it is never sent.
const STAND_IN = `key ${crypto.randomUUID()} `;
const MAX_STAND_INS = 20_000;
const TOO_MANY_SPELLINGS = `it has more than ${MAX_STAND_INS} different keys with escapes`;
const TOO_MANY = `it has more than ${MAX_STAND_INS} keys with a quote, a backslash or a control character`;

/**
 * Parses JSON. V8 takes a key with escapes for the key of an earlier text that equals its first characters, also of
 * another caller (nodejs/node#63785). So it gets no key with escapes. Throws RangeError for more than 20,000 keys that
 * have to be written with escapes, or 20,000 different ones with any escapes: each costs up to 4 µs.
 */
export function parseKeys(text: string): Json {
  const keys = escapedKeys(text);
  if (keys.length === 0) return JSON.parse(text);
  try {
    return parseWithout(keys, text);
  } catch (thrown) {
    if (thrown instanceof SyntaxError) JSON.parse(text); // Throws as well, and names the place in the text as it was sent.
    throw thrown;
  }
}

/** Parses a text in which these keys are replaced by others without escapes. */
function parseWithout(keys: readonly EscapedKey[], text: string): Json {
  const names: string[] = [];
  const pieces: string[] = [];
  const known = new Map<string, string>(); // Each spelling is decoded once.
  let written = 0;
  let standIns = 0;
  for (const { start, end, spelling } of keys) {
    const plain = known.get(spelling) ?? plainSpelling(JSON.parse(spelling), names);
    known.set(spelling, plain);
    if (plain.startsWith(`"${STAND_IN}`) && ++standIns > MAX_STAND_INS) throw new RangeError(TOO_MANY);
    pieces.push(text.slice(written, start), plain);
    written = end;
  }
  const value: Json = JSON.parse(pieces.join('') + text.slice(written));
  return names.length === 0 ? value : withNames(value, names);
}

interface EscapedKey {
  /** The place of its first quote. */
  readonly start: number;
  /** The place behind its last quote. */
  readonly end: number;
  /** Its text with both quotes. */
  readonly spelling: string;
}

/**
 * Finds the keys with escapes. Returns none for a text with a backslash outside of strings: it is no JSON. Throws
 * RangeError at the first spelling that is one too many, and reads no further.
 */
function escapedKeys(text: string): readonly EscapedKey[] {
  const found: EscapedKey[] = [];
  const spellings = new Set<string>();
  let start = text.indexOf('"');
  for (let at = text.indexOf('\\'); at >= 0; ) {
    let end = endOfString(text, start);
    // Strings are read from the first one on: only so a quote inside a string is not taken for its end.
    while (start >= 0 && end >= 0 && end < at) {
      start = text.indexOf('"', end + 1);
      end = endOfString(text, start);
    }
    if (start < 0 || start > at || end < 0) return NONE;
    if (isKey(text, end)) {
      const spelling = text.slice(start, end + 1);
      if (spellings.add(spelling).size > MAX_STAND_INS) throw new RangeError(TOO_MANY_SPELLINGS);
      found.push({ start, end: end + 1, spelling });
    }
    start = text.indexOf('"', end + 1);
    at = text.indexOf('\\', end + 1);
  }
  return found;
}

const NONE: readonly EscapedKey[] = [];

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

/** A parsed array or object. */
type Holder = Record<string | number, unknown>;

/** Puts names in the place of their stand-ins. No recursion: the depth of the value is not checked yet. */
function withNames(value: Json, names: readonly string[]): Json {
  const root = [value];
  const open: Holder[] = [root as unknown as Holder];
  function visit(holder: Holder, key: string | number): void {
    const item = holder[key];
    if (typeof item !== 'object' || item === null) return;
    const named = Array.isArray(item) ? (item as unknown as Holder) : renamed(item as Holder, names);
    if (named !== item) setOwn(holder, key, named);
    open.push(named);
  }
  for (let holder = open.pop(); holder; holder = open.pop()) {
    if (Array.isArray(holder)) for (let at = 0; at < holder.length; at++) visit(holder, at);
    else for (const key of Object.keys(holder)) visit(holder, key);
  }
  return root[0] as Json;
}

/** Returns an object with its names, in their order; itself if it has no stand-in. */
function renamed(holder: Holder, names: readonly string[]): Holder {
  const keys = Object.keys(holder);
  if (!keys.some((key) => key.startsWith(STAND_IN))) return holder;
  return Object.fromEntries(keys.map((key) => [nameOf(key, names), holder[key]]));
}

const nameOf = (key: string, names: readonly string[]): string =>
  key.startsWith(STAND_IN) ? (names[Number(key.slice(STAND_IN.length))] as string) : key;

/** Sets a value. An assignment to __proto__ would set the prototype. */
function setOwn(holder: Holder, key: string | number, value: unknown): void {
  if (key === '__proto__') Object.defineProperty(holder, key, { value });
  else holder[key] = value;
}
