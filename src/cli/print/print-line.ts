import { cutAndEscapeBreaks } from '../../core/text/cut-text.ts';
import { cutToWidth, MAX_PRINTED_CHARS, sentence } from './escape-control.ts';

const oneLine = (text: string): string => cutAndEscapeBreaks(text, MAX_PRINTED_CHARS);

/** Writes a single line to stderr. Text quoted in it cannot add another line. */
export const notice = (line: string): void =>
  void process.stderr.write(`${sentence('', oneLine(line), process.stderr)}\n`);

/** Writes a single line to stdout. Text quoted in it cannot add another line. */
export const print = (line: string): void =>
  void process.stdout.write(`${sentence('', oneLine(line), process.stdout)}\n`);

/** Writes a line to stderr that the next transient notice replaces. */
export const transientNotice = (line: string): void =>
  void process.stderr.write(`\r\x1b[K${cutToWidth(oneLine(line), (process.stderr.columns || 80) - 2)}`);

export interface PrintedStatement {
  /** Heddle's own beginning of the line, with colours. */
  readonly start: string;
  /** The message. It may quote text of servers and files. */
  readonly message: string;
  readonly fix?: string | undefined;
}

/** Writes a message and its fix. Quoted text cannot forge a line that begins with `fix:`. */
export function printStatement({ start, message, fix }: PrintedStatement, stream: NodeJS.WriteStream): void {
  const advice = fix ? `\n${sentence('  fix: ', oneLine(fix), stream)}` : '';
  stream.write(`${sentence(start, message, stream)}${advice}\n`);
}
