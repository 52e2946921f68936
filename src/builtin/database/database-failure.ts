import { ToolFailure } from '../tool-failure.ts';

/** Why a database call failed, for programs. */
export type DatabaseFailureCode =
  /** The driver's package is not installed. */
  | 'DRIVER_MISSING'
  /** There is no such connection, table or schema. */
  | 'NAME_UNKNOWN'
  /** The database cannot be reached, refuses the sign-in, or its role may do too much. */
  | 'CONNECTION_FAILED'
  /** The statement is not permitted on this connection. Nothing was sent. */
  | 'STATEMENT_REFUSED'
  /** The arguments do not fit: wrong count of params, too long, NUL. */
  | 'INPUT_INVALID'
  /** The database answered with an error. A write was rolled back. */
  | 'STATEMENT_FAILED'
  | 'TIMED_OUT'
  | 'CANCELLED'
  /** The connection was lost after COMMIT was sent, or changes could not be rolled back. */
  | 'OUTCOME_UNKNOWN';

/** A failure of a database call. Its message has no address, user or password. */
export class DatabaseFailure extends ToolFailure {
  override readonly code: DatabaseFailureCode;

  constructor(code: DatabaseFailureCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'DatabaseFailure';
    this.code = code;
  }
}

/** Returns the failure of a statement whose values do not fit its parameters. */
export const wrongParamCount = (expected: number, given: number): DatabaseFailure =>
  new DatabaseFailure(
    'INPUT_INVALID',
    `The statement has ${expected} parameters, and params has ${given} values. Send ${expected}.`,
  );
