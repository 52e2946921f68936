import type { Json } from '../../core/call.ts';

/** A named connection of the configuration. `url` and the single fields exclude each other. */
export interface ConnectionOptions {
  readonly name: string;
  readonly type: 'postgres' | 'mysql' | 'sqlite';
  readonly url?: string;
  readonly host?: string;
  readonly port?: number;
  /** The name of the database; with SQLite, the absolute path of its file. */
  readonly database?: string;
  readonly username?: string;
  readonly password?: string;
  readonly ssl?: boolean;
  readonly access: 'read' | 'readwrite';
  /** True lets `db_execute` change tables, indexes, views, sequences and types. */
  readonly allowDdl: boolean;
  /** True opens the connection although its role may read or write files of the server. */
  readonly allowPrivilegedRole: boolean;
  /** Functions that statements may call although they are volatile. */
  readonly allowFunctions: readonly string[];
}

/** A column of a result, with its type as the database names it. */
export interface Column {
  readonly name: string;
  readonly type: string;
}

/** Rows of a result. Values that JSON numbers cannot hold exactly are text, bytes are base64. */
export interface RowSet {
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly Json[])[];
  /** True if the database has more rows than the limits allow. */
  readonly truncated: boolean;
}

/** A statement with its values, and the limits of its result. */
export interface Statement {
  readonly sql: string;
  readonly params: readonly Json[];
}

export interface StatementOptions {
  readonly maxRows: number;
  readonly maxBytes: number;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** The result of a committed statement. `affectedRows` counts matched rows; `rows` come from RETURNING. */
export interface Execution extends RowSet {
  readonly affectedRows: number;
}

export interface TableName {
  readonly schema?: string;
  readonly table: string;
}

export interface TableColumn {
  readonly column_name: string;
  readonly data_type: string;
  readonly is_nullable: boolean;
  readonly column_default: string | null;
}

export interface TableEntry {
  readonly table_schema: string;
  readonly table_name: string;
  readonly table_type: 'table' | 'view';
}

/**
 * An open database. Every method throws a `DatabaseFailure` whose message has no address, user or password. Nothing is
 * retried after a statement was sent.
 */
export interface Database {
  /** Runs one read-only statement in a READ ONLY transaction that is rolled back. */
  query(statement: Statement, options: StatementOptions): Promise<RowSet>;
  /** Returns the plan of a statement that reads or changes rows. Runs nothing. */
  explain(statement: Statement, options: StatementOptions): Promise<RowSet>;
  /** Lists tables and views, of one schema or of all that are not the system's. */
  listTables(schema: string | undefined, options: StatementOptions): Promise<readonly TableEntry[]>;
  /** Lists the columns of a table; undefined if there is no such table. */
  describeTable(table: TableName, options: StatementOptions): Promise<readonly TableColumn[] | undefined>;
  /** Runs one writing statement in a transaction of its own and commits it. Only with `access: "readwrite"`. */
  execute(statement: Statement, options: StatementOptions): Promise<Execution>;
  /** Checks a writing statement without running it. Returns the estimate for its approver, in words. */
  preview(statement: Statement, options: StatementOptions): Promise<string>;
  /** Warnings for the operator: a role that can write although `access` is `"read"`, lifted checks. */
  readonly warnings: readonly string[];
  /** Ends idle connections and children at once, busy ones after their statement. */
  close(): Promise<void>;
}

/** Opens a database and checks its role. Throws a `DatabaseFailure` that says why it cannot be used. */
export type OpenDatabase = (connection: ConnectionOptions, signal: AbortSignal) => Promise<Database>;
