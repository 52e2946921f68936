import { printTable } from './print-table.ts';

/** A column of a table. */
export interface PrintedColumn<T> {
  readonly title: string;
  readonly of: (row: T) => string;
  /** Hides the column if all its cells are empty. */
  readonly optional?: boolean;
  /** Aligns the column right, for numbers. */
  readonly right?: boolean;
}

/** Prints rows in columns, without the empty optional columns. */
export function printColumns<T>(columns: readonly PrintedColumn<T>[], rows: readonly T[]): void {
  const shown = columns
    .map(({ title, of, optional, right }) => ({ title, cells: rows.map(of), optional, right }))
    .filter(({ cells, optional }) => !optional || cells.some((cell) => cell !== ''));
  const right = new Set(shown.flatMap((column, at) => (column.right ? [at] : [])));
  printTable(
    shown.map(({ title }) => title),
    rows.map((_, at) => shown.map(({ cells }) => cells[at] ?? '')),
    right,
  );
}
