import { stripVTControlCharacters } from 'node:util';
import { escapeUnseen } from '../../core/text/visible-text.ts';

/** Marks lines that others wrote. */
const MARK = '  | ';

/** Text of others that may have several lines; nothing in it acts on the screen. */
export const escapeControlCharacters = escapeUnseen;

/** Text of others in a place of one line: line breaks and tabs are spelt out, too. */
export const oneLine = (text: string): string => escapeUnseen(text).replaceAll('\n', '\\n').replaceAll('\t', '\\t');

/** Text of others on lines of its own. Each is marked, also those that the terminal would begin by wrapping. */
export const indented = (text: string, stream: NodeJS.WriteStream): string =>
  fitted(text, roomOn(stream), 0)
    .map((line) => `${MARK}${line}`)
    .join('\n');

/** Text of others that goes on after `start`, which is ours. Its further lines are marked. */
export function following(start: string, text: string, stream: NodeJS.WriteStream): string {
  const lines = fitted(text, roomOn(stream), stripVTControlCharacters(start).length);
  return `${start}${lines.join(`\n${MARK}`)}`;
}

/** JSON of others as it is indented; only lines that the terminal would wrap get marks. */
export const indentedJson = (value: unknown, stream: NodeJS.WriteStream): string =>
  JSON.stringify(value, null, 2)
    .split('\n')
    .map((line) => following('', line, stream))
    .join('\n');

/** Cuts a line of others to the width of the terminal. */
export const cutToWidth = (text: string, columns: number): string => {
  const [line = '', more] = fitted(text, columns, 0);
  return more === undefined ? line : `${line.trimEnd()}…`;
};

/** The columns for a line and its mark, with one to spare; piped, there is no end. */
const roomOn = ({ isTTY, columns }: NodeJS.WriteStream): number =>
  isTTY ? Math.max((columns || 80) - MARK.length - 1, 20) : Number.POSITIVE_INFINITY;

/** Lines no wider than this; of the first line some columns are taken. */
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

/** How much of a line fits: at least one character, up to the last space where that is not far. */
function breakAt(line: string, room: number): number {
  let width = 0;
  let at = 0;
  for (const character of line) {
    // Wider than it may be, never narrower: a tab is up to 8 columns, what is not ASCII up to 2.
    width += character === '\t' ? 8 : character <= '~' ? 1 : 2;
    if (width > room && at > 0) {
      const space = line.lastIndexOf(' ', at - 1) + 1;
      return space > at / 2 ? space : at;
    }
    at += character.length;
  }
  return at;
}
