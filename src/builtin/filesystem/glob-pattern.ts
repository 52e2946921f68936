import { ToolFailure } from '../tool-failure.ts';

const MAX_CHARACTERS = 1024;
const MAX_ALTERNATIVES = 64;
// With hundreds of them a program takes a quarter of a second to compile.
const MAX_WILDCARDS = 64;

// A dot at the start of a name is NUL in the text to match. No name has a NUL, so wildcards never match such a dot.
const HIDDEN = '\0';
const CHARACTER = '[^/\\x{0}]';
const NAME = `${CHARACTER}+`;

/** The position in a segment: before its first character, after it, or one of both by the chosen alternative. */
type Position = 'start' | 'inside' | 'either';

/** A glob as a regular expression of RE2 syntax, and facts that let a walk skip directories. */
export interface GlobPattern {
  /** Matches the whole of a path in which `hideDots` has replaced the dots. */
  readonly source: string;
  /** The directories that every match is in. */
  readonly prefix: readonly string[];
  /** Levels below the start that matches can have. */
  readonly maxDepth: number;
  /** True if a name of the pattern begins with a dot. */
  readonly namesDot: boolean;
}

/** Replaces the dot of a name that begins with one. */
export const hideDot = (name: string): string => (name.startsWith('.') ? `${HIDDEN}${name.slice(1)}` : name);

/**
 * Translates a glob with `*`, `?`, `**`, `[…]` and `{a,b}`. The result has the size of the pattern and matches in linear
 * time. Throws a `ToolFailure` for a pattern that is too large, has too many wildcards or an unclosed brace.
 */
export function parseGlob(pattern: string): GlobPattern {
  if (pattern === '') throw new ToolFailure('The pattern is empty. Write "**" for every file.');
  if (pattern.length > MAX_CHARACTERS) {
    throw new ToolFailure(
      `The pattern has ${pattern.length} characters, and ${MAX_CHARACTERS} are the limit. Shorten it.`,
    );
  }
  if (pattern.includes('\0') || !pattern.isWellFormed()) {
    throw new ToolFailure('The pattern contains a NUL character or half a character. Write it without.');
  }
  if (pattern.startsWith('/')) {
    throw new ToolFailure('The pattern begins with "/". Write it relative to rootPath, and the directory as rootPath.');
  }
  const below = pattern.replace(/^(?:\.\/+)+/, '');
  const translated = new Translation([...below]);
  const source = translated.whole();
  return {
    source,
    prefix: prefixOf(below),
    maxDepth: below.includes('**') ? Number.POSITIVE_INFINITY : below.split('/').length,
    namesDot: translated.namesDot,
  };
}

/** Returns the leading directories of a pattern that have no special characters. */
function prefixOf(pattern: string): readonly string[] {
  const names = pattern.split('/').slice(0, -1);
  const special = names.findIndex((name) => /[*?[\]{}\\]/.test(name) || name === '.' || name === '');
  return special < 0 ? names : names.slice(0, special);
}

/** Translates the characters of one pattern, from left to right. */
class Translation {
  readonly #characters: readonly string[];
  #at = 0;
  #alternatives = 0;
  #wildcards = 0;
  namesDot = false;

  constructor(characters: readonly string[]) {
    this.#characters = characters;
  }

  whole(): string {
    return this.#sequence('start', 0).source;
  }

  /** Translates up to the end of the pattern or, inside braces, up to the next `,` or `}`. */
  #sequence(from: Position, depth: number): { readonly source: string; readonly position: Position } {
    let source = '';
    let position = from;
    while (this.#at < this.#characters.length) {
      const character = this.#characters[this.#at] as string;
      if (depth > 0 && (character === ',' || character === '}')) break;
      this.#at++;
      if (character === '{') {
        const group = this.#group(position, depth + 1);
        source += group.source;
        position = group.position;
      } else if (character === '*') {
        const stars = this.#stars(position, depth);
        source += stars.source;
        position = stars.position;
      } else {
        const single = this.#single(character, position);
        source += single;
        position = single === '/' ? 'start' : 'inside';
      }
    }
    return { source, position };
  }

  #group(from: Position, depth: number): { readonly source: string; readonly position: Position } {
    const sources: string[] = [];
    const positions = new Set<Position>();
    do {
      this.#alternatives++;
      if (this.#alternatives > MAX_ALTERNATIVES) {
        throw new ToolFailure(`The pattern has more than ${MAX_ALTERNATIVES} alternatives in braces. Search in parts.`);
      }
      const { source, position } = this.#sequence(from, depth);
      sources.push(source);
      positions.add(position);
    } while (this.#characters[this.#at++] === ',');
    if (this.#characters[this.#at - 1] !== '}') {
      throw new ToolFailure('The pattern has a "{" without "}". Close it, or write "\\{" for the character.');
    }
    const [first = 'either'] = positions;
    return { source: `(?:${sources.join('|')})`, position: positions.size === 1 ? first : 'either' };
  }

  #countWildcard(): void {
    this.#wildcards++;
    if (this.#wildcards > MAX_WILDCARDS) {
      throw new ToolFailure(`The pattern has more than ${MAX_WILDCARDS} of *, ? and […]. Write a shorter one.`);
    }
  }

  /** Translates `*`, or `**` as a whole segment: any number of directories. */
  #stars(position: Position, depth: number): { readonly source: string; readonly position: Position } {
    this.#countWildcard();
    const from = this.#at - 1;
    while (this.#characters[this.#at] === '*') this.#at++;
    const next = this.#characters[this.#at];
    const isSegment = position === 'start' && this.#at - from === 2;
    if (isSegment && next === '/') {
      this.#at++;
      // Repeated, it means the same, and each copy would cost time for every path.
      while (this.#characters.slice(this.#at, this.#at + 3).join('') === '**/') this.#at += 3;
      return { source: `(?:${NAME}/)*`, position: 'start' };
    }
    const isLast = next === undefined || (depth > 0 && (next === ',' || next === '}'));
    if (isSegment && isLast) return { source: `${NAME}(?:/${NAME})*`, position: 'inside' };
    return { source: `${CHARACTER}*`, position: 'inside' };
  }

  #single(character: string, position: Position): string {
    if (character === '?' || character === '[') this.#countWildcard();
    if (character === '?') return CHARACTER;
    if (character === '[') return this.#bracket() ?? literal('[');
    const meant = character === '\\' ? (this.#characters[this.#at++] ?? '\\') : character;
    if (meant !== '.' || position === 'inside') return literal(meant);
    this.namesDot = true;
    return position === 'start' ? '\\x{0}' : '[.\\x{0}]';
  }

  /** Translates `[…]`; undefined if it has no end. It matches neither `/` nor a dot at the start of a name. */
  #bracket(): string | undefined {
    const isNegated = ['!', '^'].includes(this.#characters[this.#at] ?? '');
    const from = this.#at + (isNegated ? 1 : 0);
    const ranges: (readonly [number, number])[] = [];
    let at = from;
    for (; at === from || this.#characters[at] !== ']'; ) {
      const first = this.#member(at);
      if (first === undefined) return undefined;
      at = first.next;
      const last = this.#characters[at] === '-' && this.#characters[at + 1] !== ']' ? this.#member(at + 1) : undefined;
      if (last) at = last.next;
      ranges.push([first.code, last?.code ?? first.code]);
    }
    this.#at = at + 1;
    return isNegated ? `[^/\\x{0}${ranges.map(toRange).join('')}]` : oneOf(ranges.flatMap(withoutSlash));
  }

  #member(at: number): { readonly code: number; readonly next: number } | undefined {
    const isEscaped = this.#characters[at] === '\\';
    const code = this.#characters[at + (isEscaped ? 1 : 0)]?.codePointAt(0);
    return code === undefined ? undefined : { code, next: at + (isEscaped ? 2 : 1) };
  }
}

const SLASH = 0x2f;
type Range = readonly [number, number];

/** Removes the slash from a range. An inverted range is empty. */
const withoutSlash = ([first, last]: Range): readonly Range[] =>
  [[first, Math.min(last, SLASH - 1)] as const, [Math.max(first, SLASH + 1), last] as const].filter(
    ([low, high]) => low <= high,
  );

const toRange = ([first, last]: Range): string => (first <= last ? `${code(first)}-${code(last)}` : '');

const NOTHING = '[^\\x{0}-\\x{10FFFF}]';
const oneOf = (ranges: readonly Range[]): string =>
  ranges.length === 0 ? NOTHING : `[${ranges.map(toRange).join('')}]`;

const code = (point: number): string => `\\x{${point.toString(16)}}`;
const literal = (character: string): string =>
  /^[A-Za-z0-9_/]$/.test(character) ? character : code(character.codePointAt(0) ?? 0);
