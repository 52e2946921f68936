/** A value that every database takes and returns unchanged. */
export type SqlValue = string | number | null;

/** A statement in the SQL that SQLite and Postgres share, with `?` for each value. */
export interface SqlStatement {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

export type SqlRow = Readonly<Record<string, SqlValue>>;

export interface WriteOptions {
  /** Waits for the disk: the rows survive a power failure at once. */
  readonly durable?: boolean;
}

/** Runs statements that are written once for all databases. */
export interface Statements {
  /** The schema of Heddle's tables, to be written before each table's name. */
  readonly schema: string;
  /** Returns the SQL expression for the time in milliseconds. On Postgres it reads the database's clock. */
  now(): string;
  /** Returns the end of a SELECT that locks its rows until the commit; empty where a write locks the database. */
  lock(mode: 'KEY SHARE' | 'UPDATE'): string;
  /** Returns a number that changes when another connection commits; absent where the database has none. */
  dataVersion?(): number;
  read(statement: SqlStatement): Promise<readonly SqlRow[]>;
  /** Runs the statements in one transaction. Returns the rows of each. */
  write(statements: readonly SqlStatement[], options?: WriteOptions): Promise<readonly (readonly SqlRow[])[]>;
}

/** A part of a statement that is no value: the name of a table, an expression. */
export interface RawSql {
  readonly raw: string;
}

/**
 * Builds a statement from a template. A value becomes a placeholder; a `RawSql` is inserted as it is, and a statement
 * with its values.
 */
export function sql(
  texts: TemplateStringsArray,
  ...parts: readonly (SqlValue | RawSql | SqlStatement)[]
): SqlStatement {
  const values: SqlValue[] = [];
  const rest = parts.map((part, at) => {
    const text = texts[at + 1] ?? '';
    const isValue = typeof part !== 'object' || part === null;
    if (!isValue && 'raw' in part) return part.raw + text;
    values.push(...(isValue ? [part] : part.values));
    return (isValue ? '?' : part.sql) + text;
  });
  return { sql: (texts[0] ?? '') + rest.join(''), values };
}
