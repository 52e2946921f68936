import { cutToWidth, following, oneLine } from './escape-control.ts';

/** Writes a single line to stderr. Text quoted in it cannot add another line. */
export const say = (line: string): void =>
  void process.stderr.write(`${following('', oneLine(line), process.stderr)}\n`);

/** Writes a single line to stdout. Text quoted in it cannot add another line. */
export const print = (line: string): void =>
  void process.stdout.write(`${following('', oneLine(line), process.stdout)}\n`);

/** A line that the next one of its kind replaces. */
export const sayForNow = (line: string): void =>
  void process.stderr.write(`\r\x1b[K${cutToWidth(oneLine(line), (process.stderr.columns || 80) - 2)}`);

export interface Statement {
  /** The beginning of the line, ours, with colours. */
  readonly start: string;
  /** The message, in which others may be quoted. */
  readonly message: string;
  readonly fix?: string | undefined;
}

/** Says what happened and what to do. Only our own advice stands on a line that begins with `fix:`. */
export function state({ start, message, fix }: Statement, stream: NodeJS.WriteStream): void {
  const advice = fix ? `\n${following('  fix: ', oneLine(fix), stream)}` : '';
  stream.write(`${following(start, message, stream)}${advice}\n`);
}
