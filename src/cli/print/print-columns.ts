import { printTable } from './print-table.ts';

/** One column of a table, and what each row says in it. */
export interface Column<T> {
  readonly title: string;
  readonly of: (row: T) => string;
  /** Left out when no row has something to say in it. */
  readonly optional?: boolean;
  /** Numbers stand at the right, so that they can be compared. */
  readonly right?: boolean;
}

/** Rows in those columns that say something. */
export function printColumns<T>(columns: readonly Column<T>[], rows: readonly T[]): void {
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
