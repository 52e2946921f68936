import type { SourceLocation } from '../config.ts';

const MAX_SKIPPED_CHARS = 6;

interface LocatedText {
  readonly text: string;
}

/**
 * Returns the location of one character of a string value. `at` is the start of the value in the text of its file. Quotes,
 * escapes and the indentation of YAML blocks are skipped by comparing the value with its source.
 */
export function locateIn(
  document: LocatedText,
  at: SourceLocation,
  { value, offset }: { value: string; offset: number },
) {
  const { text } = document;
  const starts = startsOf(document);
  const start = (starts[at.line - 1] ?? starts.at(-1) ?? 0) + at.column - 1;
  const isBlock = text[start] === '|' || text[start] === '>';
  let place = isBlock ? text.indexOf('\n', start) + 1 : start;
  for (let index = 0; index <= offset && index < value.length; index++) {
    place = nextPlace(text, place, value[index] ?? '');
    if (index < offset) place++;
  }
  let { line } = at;
  while ((starts[line] ?? Number.POSITIVE_INFINITY) <= place) line++;
  return { file: at.file, line, column: place - (starts[line - 1] ?? 0) + 1 };
}

/** Finds the source of the next character: behind white space, a quote or the backslash of an escape. */
function nextPlace(text: string, from: number, character: string): number {
  let place = from;
  while (text[place] !== character && /\s/.test(text[place] ?? '')) place++;
  for (let skipped = 0; skipped <= MAX_SKIPPED_CHARS; skipped++) {
    if (text[place + skipped] === character) return place + skipped;
  }
  return from;
}

/** Returns the offset of each line. */
export function rowOffsets(text: string): readonly number[] {
  const starts = [0];
  for (const match of text.matchAll(/\r\n|\n|\r/g)) starts.push(match.index + match[0].length);
  return starts;
}

const known = new WeakMap<LocatedText, readonly number[]>();

/** Returns the offsets of the lines of a document, found once: a file may have ten thousand invalid conditions. */
function startsOf(document: LocatedText): readonly number[] {
  const starts = known.get(document) ?? rowOffsets(document.text);
  known.set(document, starts);
  return starts;
}
