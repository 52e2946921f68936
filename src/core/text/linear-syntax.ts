/** Ranges of code points, first and last. */
type Ranges = readonly (readonly [number, number])[];

const LAST = 0x10_ffff;
const DIGITS: Ranges = [[0x30, 0x39]];
const WORD: Ranges = [
  [0x30, 0x39],
  [0x41, 0x5a],
  [0x5f, 0x5f],
  [0x61, 0x7a],
];
/** WhiteSpace and LineTerminator of ECMAScript. RE2 knows five of them only. */
const SPACES: Ranges = [
  ...([
    [0x09, 0x0d],
    [0x20, 0x20],
    [0xa0, 0xa0],
    [0x1680, 0x1680],
    [0x2000, 0x200a],
    [0x2028, 0x2029],
  ] as const),
  ...([
    [0x202f, 0x202f],
    [0x205f, 0x205f],
    [0x3000, 0x3000],
    [0xfeff, 0xfeff],
  ] as const),
];
const ANY = '(?s:.)';
const NONE = '[^\\x{0}-\\x{10ffff}]';
const LINE_ENDS = '\\n\\r\\x{2028}\\x{2029}';
const CLASSES: Readonly<Record<string, Ranges>> = { d: DIGITS, w: WORD, s: SPACES };
const CONTROLS: Readonly<Record<string, number>> = { t: 0x09, n: 0x0a, v: 0x0b, f: 0x0c, r: 0x0d, 0: 0 };

/** Syntax that cannot be matched in linear time, or is none of ECMAScript. */
class Unsupported extends Error {}

interface Flags {
  readonly i: boolean;
  readonly s: boolean;
}

/**
 * Translates a pattern of ECMAScript with the flag `u` to RE2, which matches it in linear time and alike. Syntax of RE2 that
 * ECMAScript lacks, such as `(?i)`, `\A` and `[[:alpha:]]`, stays. Returns undefined for look-around, back-references and
 * other syntax that is not translated. RE2 may refuse the result, too.
 */
export function toLinearSyntax(source: string): string | undefined {
  try {
    return translate(source);
  } catch (thrown) {
    if (thrown instanceof Unsupported) return undefined;
    throw thrown;
  }
}

function translate(source: string): string {
  const scopes: Flags[] = [NO_FLAGS];
  let result = '';
  let at = 0;
  while (at < source.length) {
    const flags = scopes.at(-1) ?? NO_FLAGS;
    const char = source[at] ?? '';
    if (char === ')' && scopes.length > 1) scopes.pop();
    const part = char === '(' ? openGroup(source, at, flags) : partAt(source, at, flags);
    if (part.flags) scopes.splice(part.isScoped ? scopes.length : -1, 1, part.flags);
    result += part.text;
    at = part.end;
  }
  return result;
}

const NO_FLAGS: Flags = { i: false, s: false };

interface Part {
  readonly text: string;
  readonly end: number;
  /** The flags from here on, of a group or flags in parentheses. */
  readonly flags?: Flags;
  /** True if they end with the group. */
  readonly isScoped?: boolean;
}

interface Character {
  readonly code: number;
  readonly end: number;
}

function partAt(source: string, at: number, flags: Flags): Part {
  const char = source[at] ?? '';
  if (char === '\\') return escapeAt(source, at, flags);
  if (char === '[') return classAt(source, at, flags);
  const end = at + 1;
  if ('{}]'.includes(char)) return { text: braceAt(source, at), end };
  return { text: char === '.' ? (flags.s ? ANY : `[^${LINE_ENDS}]`) : char, end };
}

const QUANTIFIER = /\{\d+(?:,\d*)?\}/y;
const QUANTIFIER_END = /\{\d+(?:,\d*)?\}$/;

/** Returns a brace of a quantifier as it is, and any other as a character. */
function braceAt(source: string, at: number): string {
  const char = source[at] ?? '';
  QUANTIFIER.lastIndex = at;
  const isPart =
    char === '{'
      ? QUANTIFIER.test(source)
      : char === '}' && QUANTIFIER_END.test(source.slice(Math.max(0, at - 20), at + 1));
  return isPart ? char : `\\${char}`;
}

const MODIFIERS = /\(\?([a-zA-Z]*)(?:-([a-zA-Z]+))?([:)])/y;
const NAMED_GROUP = /\(\?P?<[^>=!][^>]*>/y;

function openGroup(source: string, at: number, flags: Flags): Part {
  if (source[at + 1] !== '?') return { text: '(?:', end: at + 1, flags, isScoped: true };
  NAMED_GROUP.lastIndex = at;
  const named = NAMED_GROUP.exec(source);
  // Names count for back-references only.
  if (named) return { text: '(?:', end: NAMED_GROUP.lastIndex, flags, isScoped: true };
  MODIFIERS.lastIndex = at;
  const found = MODIFIERS.exec(source);
  if (!found) throw new Unsupported('look-around');
  const [text, on = '', off = '', end] = found;
  // Lines end at other characters in RE2.
  if (on.includes('m')) throw new Unsupported('multiline');
  const is = (flag: 'i' | 's') => (flags[flag] || on.includes(flag)) && !off.includes(flag);
  return { text, end: MODIFIERS.lastIndex, flags: { i: is('i'), s: is('s') }, isScoped: end === ':' };
}

const PROPERTY = /\\[pP](?:\{(?:(?:General_Category|gc|Script|sc)=)?(\w+)\}|([A-Z]))/y;

/** Translates an escape outside a class. */
function escapeAt(source: string, at: number, flags: Flags): Part {
  const letter = source[at + 1] ?? '';
  const end = at + 2;
  const ranges = CLASSES[letter.toLowerCase()];
  if (letter === 'b' || letter === 'B' || letter === 'W') {
    // Ignoring case, ECMAScript counts ſ and K as letters of words.
    if (flags.i) throw new Unsupported('word boundary');
    if (letter !== 'W') return { text: `\\${letter}`, end };
  }
  if (ranges) return { text: `[${letter === letter.toLowerCase() ? '' : '^'}${inClass(ranges)}]`, end };
  if (letter === 'p' || letter === 'P') return propertyAt(source, at);
  if (letter === 'A' || letter === 'z') return { text: `\\${letter}`, end };
  const { code, end: after } = characterAt(source, at);
  return { text: written(code), end: after };
}

function propertyAt(source: string, at: number): Part {
  PROPERTY.lastIndex = at;
  const found = PROPERTY.exec(source);
  if (!found) throw new Unsupported('property');
  const [, name = found[2] ?? ''] = found;
  const short = Object.hasOwn(CATEGORIES, name) ? CATEGORIES[name] : name;
  return { text: `\\${source[at + 1]}{${short}}`, end: PROPERTY.lastIndex };
}

const HEX =
  /\\(?:x([\da-f]{2})|x\{([\da-f]{1,6})\}|u\{([\da-f]{1,8})\}|u(d[89ab][\da-f]{2})\\u(d[c-f][\da-f]{2})|u([\da-f]{4}))/iy;

/** Reads an escape that stands for one character. */
function characterAt(source: string, at: number): Character {
  HEX.lastIndex = at;
  const hex = HEX.exec(source);
  if (hex) return { code: codeOf(hex), end: HEX.lastIndex };
  const control = /^\\c([a-z])/i.exec(source.slice(at, at + 3))?.[1];
  if (control) return { code: control.charCodeAt(0) % 32, end: at + 3 };
  const [char] = source.slice(at + 1, at + 3);
  if (char === undefined) throw new Unsupported('escape');
  const isOctal = char === '0' && /\d/.test(source[at + 2] ?? '');
  if (Object.hasOwn(CONTROLS, char) && !isOctal) return { code: CONTROLS[char] ?? 0, end: at + 2 };
  // A letter or digit may mean something else to the author: a back-reference, `\Z`, `\h`.
  if (/[\p{L}\p{N}]/u.test(char)) throw new Unsupported('escape');
  return { code: char.codePointAt(0) ?? 0, end: at + 1 + char.length };
}

function codeOf([, two, braced, long, high, low, four]: readonly (string | undefined)[]): number {
  if (high && low)
    return String.fromCharCode(...[high, low].map((half) => Number.parseInt(half, 16))).codePointAt(0) ?? 0;
  const code = Number.parseInt(two ?? braced ?? long ?? four ?? '', 16);
  if (code > LAST) throw new Unsupported('code point');
  return code;
}

const POSIX = /\[:\^?[a-z]+:\](?=[^\]]*\])/y;

/** Translates a class. Its characters are written as numbers, so that none has a meaning in RE2. */
function classAt(source: string, start: number, flags: Flags): Part {
  const isNegated = source[start + 1] === '^';
  let at = start + (isNegated ? 2 : 1);
  const members: string[] = [];
  while (source[at] !== ']') {
    if (at >= source.length) throw new Unsupported('class');
    const set = setAt(source, at, flags);
    if (set) {
      members.push(set.text);
      at = set.end;
      continue;
    }
    const first = memberAt(source, at);
    at = first.end;
    const isRange = source[at] === '-' && source[at + 1] !== ']' && !setAt(source, at + 1, flags);
    const last = isRange ? memberAt(source, at + 1) : first;
    if (last.code < first.code) throw new Unsupported('range');
    members.push(inClass([[first.code, last.code]]));
    at = last.end;
  }
  const end = at + 1;
  if (members.length > 0) return { text: `[${isNegated ? '^' : ''}${members.join('')}]`, end };
  return { text: isNegated ? ANY : NONE, end };
}

/** Translates a set of characters inside a class: `\s`, `\p{L}`, `[:alpha:]`. */
function setAt(source: string, at: number, { i }: Flags): Part | undefined {
  POSIX.lastIndex = at;
  const posix = POSIX.exec(source);
  if (posix) return { text: posix[0], end: POSIX.lastIndex };
  if (source[at] !== '\\') return undefined;
  const letter = source[at + 1] ?? '';
  if (letter === 'p' || letter === 'P') return propertyAt(source, at);
  const ranges = CLASSES[letter.toLowerCase()];
  if (!ranges) return undefined;
  if (letter === letter.toLowerCase()) return { text: inClass(ranges), end: at + 2 };
  // Ignoring case, the engine looks up the cases of each character.
  if (i) throw new Unsupported('negated set');
  return { text: inClass(complementOf(ranges)), end: at + 2 };
}

function memberAt(source: string, at: number): Character {
  if (source.startsWith('\\b', at)) return { code: 0x08, end: at + 2 };
  if (source[at] === '\\') return characterAt(source, at);
  const code = source.codePointAt(at);
  if (code === undefined) throw new Unsupported('class');
  return { code, end: at + (code > 0xffff ? 2 : 1) };
}

function complementOf(ranges: Ranges): Ranges {
  const starts = [0, ...ranges.map(([, last]) => last + 1)];
  return starts.map((start, index) => [start, (ranges[index]?.[0] ?? LAST + 1) - 1] as const);
}

const inClass = (ranges: Ranges): string =>
  ranges.map(([first, last]) => (first === last ? written(first) : `${written(first)}-${written(last)}`)).join('');

/** Writes a character. The size of a pattern is estimated by ranges of numbers, so letters and digits are no numbers. */
function written(code: number): string {
  const char = String.fromCodePoint(code);
  return /[0-9A-Za-z]/.test(char) ? char : `\\x{${code.toString(16)}}`;
}

const CATEGORIES: Readonly<Record<string, string>> = {
  ...{ Letter: 'L', Lowercase_Letter: 'Ll', Modifier_Letter: 'Lm', Other_Letter: 'Lo', Titlecase_Letter: 'Lt' },
  ...{ Uppercase_Letter: 'Lu', Mark: 'M', Combining_Mark: 'M', Spacing_Mark: 'Mc', Enclosing_Mark: 'Me' },
  ...{ Nonspacing_Mark: 'Mn', Number: 'N', Decimal_Number: 'Nd', digit: 'Nd', Letter_Number: 'Nl', Other_Number: 'No' },
  ...{ Punctuation: 'P', punct: 'P', Connector_Punctuation: 'Pc', Dash_Punctuation: 'Pd', Close_Punctuation: 'Pe' },
  ...{ Final_Punctuation: 'Pf', Initial_Punctuation: 'Pi', Other_Punctuation: 'Po', Open_Punctuation: 'Ps' },
  ...{ Symbol: 'S', Currency_Symbol: 'Sc', Modifier_Symbol: 'Sk', Math_Symbol: 'Sm', Other_Symbol: 'So' },
  ...{ Separator: 'Z', Line_Separator: 'Zl', Paragraph_Separator: 'Zp', Space_Separator: 'Zs', Other: 'C' },
  ...{ Control: 'Cc', cntrl: 'Cc', Format: 'Cf', Private_Use: 'Co', Surrogate: 'Cs' },
};
