import colors from 'picocolors';
import { inert } from './inert.ts';

/** Rows in columns. The last column is cut to the width of the terminal; piped, nothing is cut. */
export function printTable(head: readonly string[], rows: readonly (readonly string[])[]): void {
  const clean = rows.map((row) => row.map((cell) => inert(cell).replace(/\s+/g, ' ').trim()));
  const widths = head.map((title, column) => Math.max(title.length, ...clean.map((row) => (row[column] ?? '').length)));
  const line = (cells: readonly string[]) =>
    cut(
      cells
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd(),
    );
  process.stdout.write(`${[colors.dim(line(head)), ...clean.map(line)].join('\n')}\n`);
}

function cut(text: string): string {
  const { columns } = process.stdout;
  return columns && text.length > columns ? `${text.slice(0, columns - 1)}…` : text;
}
