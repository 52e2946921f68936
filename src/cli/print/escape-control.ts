import { stripVTControlCharacters } from 'node:util';
import { cutText } from '../../core/text/cut-text.ts';
import { escapeControlCharacters } from '../../core/text/visible-text.ts';

/** Prefix of lines that quote a server or a file. */
const MARK = '  | ';
/** Prefix of wrapped lines of Heddle's own sentences. As long as the mark. */
const INDENT = '    ';

/** The longest message, cell or line about foreign text that is printed. Longer text is cut before it is escaped. */
export const MAX_PRINTED_CHARS = 20_000;

/** Formats quoted text on lines of its own. Each line gets the mark, also those made by wrapping. */
export const indented = (text: string, stream: NodeJS.WriteStream): string =>
  fitted(text, roomOn(stream), 0)
    .map((line) => `${MARK}${line}`)
    .join('\n');

/** Appends quoted text to `start`. Its further lines get the mark. */
export function following(start: string, text: string, stream: NodeJS.WriteStream): string {
  const lines = fitted(text, roomOn(stream), stripVTControlCharacters(start).length);
  return `${start}${lines.join(`\n${MARK}`)}`;
}

/**
 * Appends a sentence of Heddle to `start`. Its wrapped lines are indented. Further lines of the text are quoted and get the
 * mark, and so does a wrapped line that begins like a fix. Text over 20,000 characters is cut.
 */
export function sentence(start: string, text: string, stream: NodeJS.WriteStream): string {
  const [first = '', ...quoted] = cutText(text, MAX_PRINTED_CHARS).split('\n');
  const [head = '', ...wrapped] = fitted(first, roomOn(stream), stripVTControlCharacters(start).length);
  const own = wrapped.map((line) => `${/^\s*fix:/i.test(line) ? MARK : INDENT}${line}`);
  return `${start}${[head, ...own, ...quoted.map((line) => indented(line, stream))].join('\n')}`;
}

/** Formats quoted JSON. Only lines made by wrapping get the mark. */
export const indentedJson = (value: unknown, stream: NodeJS.WriteStream): string =>
  JSON.stringify(value, null, 2)
    .split('\n')
    .map((line) => following('', line, stream))
    .join('\n');

/** Cuts a quoted line to the width of the terminal. */
export const cutToWidth = (text: string, columns: number): string => {
  // A character has at least one column, and an emoji of many characters is not cut in the part that is shown.
  const [line = '', more] = fitted(text.slice(0, 2 * columns + 64), columns, 0);
  return more === undefined ? line : `${line.trimEnd()}…`;
};

/** Returns the columns left beside the mark, minus one; unlimited for a pipe. */
const roomOn = ({ isTTY, columns }: NodeJS.WriteStream): number =>
  isTTY ? Math.max((columns || 80) - MARK.length - 1, 20) : Number.POSITIVE_INFINITY;

/** Wraps text to a width. The first line has `taken` columns less. */
function fitted(text: string, width: number, taken: number): readonly string[] {
  const room = (at: number) => (at === 0 ? Math.max(width - taken, 1) : width);
  return escapeControlCharacters(text)
    .split('\n')
    .reduce<string[]>((lines, line) => {
      let rest = line;
      for (;;) {
        const end = breakAt(rest, room(lines.length));
        lines.push(rest.slice(0, end));
        rest = rest.slice(end);
        if (rest === '') return lines;
      }
    }, []);
}

/** Returns the length of the part that fits: at least one character, and up to the last space in the second half. */
function breakAt(line: string, room: number): number {
  let width = 0;
  let at = 0;
  for (const character of line) {
    // An upper bound of the width: 8 columns for a tab, 2 for a character outside ASCII.
    width += character === '\t' ? 8 : character <= '~' ? 1 : 2;
    if (width > room && at > 0) {
      const space = line.lastIndexOf(' ', at - 1) + 1;
      return space > at / 2 ? space : at;
    }
    at += character.length;
  }
  return at;
}
