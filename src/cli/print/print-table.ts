import colors from 'picocolors';
import { escapeControlCharacters } from '../../core/text/visible-text.ts';
import { cutToWidth } from './escape-control.ts';

/** Prints a table. Lines are cut to the width of a terminal; in a pipe they are not. */
export function printTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  right: ReadonlySet<number> = new Set(),
): void {
  const clean = rows.map((row) => row.map((cell) => escapeControlCharacters(cell).replace(/\s+/g, ' ').trim()));
  const widths = head.map((title, column) =>
    clean.reduce((width, row) => Math.max(width, (row[column] ?? '').length), title.length),
  );
  const padded = (cell: string, at: number) =>
    right.has(at) ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0);
  const line = (cells: readonly string[]) => cut(cells.map(padded).join('  ').trimEnd());
  process.stdout.write(`${[colors.dim(line(head)), ...clean.map(line)].join('\n')}\n`);
}

function cut(text: string): string {
  const { columns } = process.stdout;
  return columns ? cutToWidth(text, columns - 1) : text;
}
