import type { SourceLocation } from '../config.ts';

const MAX_SKIPPED_CHARS = 6;

/**
 * Returns the location of one character of a string value. `at` is the start of the value in the text of its file. Quotes,
 * escapes and the indentation of YAML blocks are skipped by comparing the value with its source.
 */
export function locateIn(text: string, at: SourceLocation, { value, offset }: { value: string; offset: number }) {
  const start = startOfLine(text, at.line) + at.column - 1;
  const isBlock = text[start] === '|' || text[start] === '>';
  let place = isBlock ? text.indexOf('\n', start) + 1 : start;
  for (let index = 0; index <= offset && index < value.length; index++) {
    place = nextPlace(text, place, value[index] ?? '');
    if (index < offset) place++;
  }
  return locationOf(text, place, at.file);
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

function startOfLine(text: string, line: number): number {
  let start = 0;
  for (let count = 1; count < line; count++) {
    const [end = '', index = -1] = [/\r\n|\n|\r/.exec(text.slice(start))?.[0], text.slice(start).search(/\r\n|\n|\r/)];
    if (index < 0) return start;
    start += index + end.length;
  }
  return start;
}

function locationOf(text: string, place: number, file: string): SourceLocation {
  const before = text.slice(0, place).split(/\r\n|\n|\r/);
  return { file, line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}
