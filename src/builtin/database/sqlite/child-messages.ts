import type { Json } from '../../../core/call.ts';
import type { Column } from '../database.ts';
import type { DatabaseFailureCode } from '../database-failure.ts';

/** A request to a child. The messages to and from it are lines of JSON. */
export type ChildRequest = (
  | { readonly kind: 'check' }
  | ({ readonly kind: 'query' } & ChildStatement)
  /** Rolled back unless the next line is `COMMIT`. */
  | ({ readonly kind: 'execute' } & ChildStatement)
) &
  ChildFile;

export interface ChildFile {
  readonly file: string;
  /** True lets SQLite roll back or recover what a killed writer left, which needs a writable file. */
  readonly mayRecover: boolean;
  /** How long a locked database is waited for. */
  readonly busyMs: number;
}

export interface ChildStatement {
  readonly sql: string;
  /** True returns the plan of the statement and does not run it. */
  readonly isPlan: boolean;
  /** The actions that the authorizer permits. */
  readonly grant: ChildGrant;
  readonly named: Readonly<Record<string, Json>>;
  readonly values: readonly Json[];
  readonly maxRows: number;
  readonly maxBytes: number;
}

/** A verb permits its definitions; `write` permits changes of rows only. */
export type ChildGrant = 'read' | 'write' | 'CREATE' | 'ALTER' | 'DROP';

/** The line with which the parent has a child commit. */
export const COMMIT = '"commit"';

export type ChildReply =
  | { readonly error: { readonly code: DatabaseFailureCode; readonly message: string } }
  /** The statement ran. The child waits for COMMIT. */
  | { readonly ready: true }
  | ChildResult;

export interface ChildResult {
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly Json[])[];
  readonly truncated: boolean;
  readonly affectedRows: number;
}
