import { stripVTControlCharacters } from 'node:util';
import { escapeControlCharacters } from '../../core/text/visible-text.ts';

/** Prefix of lines that quote a server or a file. */
const MARK = '  | ';

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

/** Formats quoted JSON. Only lines made by wrapping get the mark. */
export const indentedJson = (value: unknown, stream: NodeJS.WriteStream): string =>
  JSON.stringify(value, null, 2)
    .split('\n')
    .map((line) => following('', line, stream))
    .join('\n');

/** Cuts a quoted line to the width of the terminal. */
export const cutToWidth = (text: string, columns: number): string => {
  const [line = '', more] = fitted(text, columns, 0);
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
