import colors from 'picocolors';
import { cutAndEscape } from '../../core/text/cut-text.ts';
import { cutToWidth, MAX_PRINTED_CHARS } from './escape-control.ts';

/** Prints a table. Lines are cut to the width of a terminal; in a pipe they are not. */
export function printTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  right: ReadonlySet<number> = new Set(),
): void {
  const { title, line } = tableOf(head, rows, right);
  process.stdout.write([title, ...rows.map(line)].join(''));
}

/** Prints the head of a table whose columns are as wide as the widest of some rows. Returns a function that prints a row. */
export function tablePrinter(
  head: readonly string[],
  widest: readonly (readonly string[])[],
): (cells: readonly string[]) => void {
  const { title, line } = tableOf(head, widest);
  process.stdout.write(title);
  return (cells) => void process.stdout.write(line(cells));
}

/** The lines of a table whose columns are as wide as the widest of some rows. */
interface TableLines {
  readonly title: string;
  line(cells: readonly string[]): string;
}

/** Returns the lines of a table, to be printed one by one. */
function tableOf(
  head: readonly string[],
  widest: readonly (readonly string[])[],
  right: ReadonlySet<number> = new Set(),
): TableLines {
  const clean = (cell: string) => cutAndEscape(cell, MAX_PRINTED_CHARS).replace(/\s+/g, ' ').trim();
  const widths = head.map((title, column) =>
    widest.reduce((width, row) => Math.max(width, clean(row[column] ?? '').length), title.length),
  );
  const padded = (cell: string, at: number) =>
    right.has(at) ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0);
  const line = (cells: readonly string[]) => cut(cells.map(clean).map(padded).join('  ').trimEnd());
  return { title: `${colors.dim(line(head))}\n`, line: (cells) => `${line(cells)}\n` };
}

function cut(text: string): string {
  const { columns } = process.stdout;
  return columns ? cutToWidth(text, columns - 1) : text;
}
