import type { PoolClient } from 'pg';
import type { ConnectionOptions } from '../database.ts';
import { DatabaseFailure } from '../database-failure.ts';
import type { Deadline } from '../deadline.ts';
import { explainStatementError, isStatementError, type SentText } from './postgres-failure.ts';
import type { PostgresPool } from './postgres-pool.ts';

/** A call that fails at its deadline returns within 500 ms. The server has this long to end the statement. */
const GRACE_MS = 400;
/** The server ends a statement that Heddle could not cancel. */
const SERVER_EXTRA_MS = 1_000;

/** A connection in a transaction. */
export interface OpenTransaction {
  readonly client: PoolClient;
  /** Set to true if the server still sends. The connection is then closed, and its transaction is gone. */
  isAbandoned: boolean;
}

interface Scope {
  readonly pool: PostgresPool;
  readonly connection: ConnectionOptions;
  readonly deadline: Deadline;
  /** The statement of the caller, for positions in errors. */
  readonly sent: SentText;
}

/**
 * Returns the statements that begin a transaction with its timeouts. The other settings are those that Heddle's reading
 * of SQL and of values relies on, whatever the role or the database sets.
 */
function beginSql(mode: 'READ ONLY' | 'READ WRITE', deadline: Deadline): string {
  const timeoutMs = Math.ceil(deadline.timeoutMs);
  return [
    `BEGIN ${mode}`,
    `SET LOCAL statement_timeout = ${timeoutMs + SERVER_EXTRA_MS}`,
    `SET LOCAL lock_timeout = ${timeoutMs + SERVER_EXTRA_MS}`,
    `SET LOCAL idle_in_transaction_session_timeout = ${timeoutMs + SERVER_EXTRA_MS}`,
    'SET LOCAL standard_conforming_strings = on',
    'SET LOCAL bytea_output = hex',
    'SET LOCAL extra_float_digits = 3',
  ].join('; ');
}

/** Runs work in a READ ONLY transaction, which is always rolled back. */
export async function runReadOnly<T>(scope: Scope, work: (open: OpenTransaction) => Promise<T>): Promise<T> {
  const { pool, deadline } = scope;
  const client = await pool.begin(beginSql('READ ONLY', deadline), deadline);
  const open: OpenTransaction = { client, isAbandoned: false };
  try {
    const result = await supervise(scope, client, work(open));
    if (open.isAbandoned) pool.cancel(client);
    // After a cancellation the connection is never used again: a late one would hit the next statement.
    if (open.isAbandoned || deadline.failure()) pool.drop(client);
    else pool.restore(client, 'open');
    return result;
  } catch (error) {
    throw giveUp(scope, client, error);
  }
}

/** Runs work in a transaction and commits it. Nothing is repeated. */
export async function runAndCommit<T>(scope: Scope, work: (open: OpenTransaction) => Promise<T>): Promise<T> {
  const { pool, deadline } = scope;
  const client = await pool.begin(beginSql('READ WRITE', deadline), deadline);
  const open: OpenTransaction = { client, isAbandoned: false };
  let result: T;
  try {
    result = await supervise(scope, client, work(open));
    if (open.isAbandoned)
      throw new DatabaseFailure('STATEMENT_FAILED', 'A returned row is too large. Return fewer columns.');
  } catch (error) {
    throw rolledBack(giveUp(scope, client, error));
  }
  const failure = deadline.failure();
  if (failure) {
    pool.drop(client);
    throw rolledBack(failure);
  }
  await commit(scope, client);
  return result;
}

/** Waits for work. At the deadline the server is asked to cancel it, and gets a moment to do so. */
async function supervise<T>({ pool, deadline }: Scope, client: PoolClient, work: Promise<T>): Promise<T> {
  const forget = deadline.onEnd(() => pool.cancel(client));
  try {
    return await withGrace(deadline, work);
  } catch (error) {
    throw deadline.failure() ?? error;
  } finally {
    forget();
  }
}

/** Waits for a promise, and after the deadline for `GRACE_MS` more. */
function withGrace<T>(deadline: Deadline, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    let stop = () => {};
    const forget = deadline.onEnd(() => {
      stop = deadline.timer(GRACE_MS, () => reject(deadline.failure()));
    });
    promise.then(resolve, reject).finally(() => {
      forget();
      stop();
    });
  });
}

/** Ends a transaction after an error and explains the error. */
function giveUp({ pool, connection, deadline, sent }: Scope, client: PoolClient, error: unknown): DatabaseFailure {
  const failure = deadline.failure();
  if (failure) {
    pool.drop(client);
    return failure;
  }
  if (isStatementError(error)) {
    pool.restore(client, 'open');
    return explainStatementError(error, sent, connection);
  }
  pool.drop(client);
  if (error instanceof DatabaseFailure) return error;
  const text = `The connection "${connection.name}" was lost during the statement. Call again.`;
  return new DatabaseFailure('CONNECTION_FAILED', text);
}

function rolledBack({ code, message }: DatabaseFailure): DatabaseFailure {
  const known = code === 'CONNECTION_FAILED' ? 'STATEMENT_FAILED' : code;
  return new DatabaseFailure(known, `${message} The transaction was rolled back: nothing was changed.`);
}

/** Commits. The server answers with the tag ROLLBACK when the transaction had failed. */
async function commit({ pool, connection, deadline, sent }: Scope, client: PoolClient): Promise<void> {
  let tag: string;
  try {
    tag = (await withGrace(deadline, client.query('COMMIT'))).command;
  } catch (error) {
    // An error of the statement leaves the connection alive. A lost connection says nothing about the outcome.
    const isAlive = isStatementError(error) && (await withGrace(deadline, client.query('ROLLBACK')).then(yes, no));
    if (isAlive) {
      pool.restore(client, 'ended');
      throw rolledBack(explainStatementError(error, sent, connection));
    }
    pool.drop(client);
    throw outcomeUnknown(connection.name);
  }
  pool.restore(client, 'ended');
  if (tag !== 'COMMIT') {
    throw rolledBack(new DatabaseFailure('STATEMENT_FAILED', 'The database did not commit the transaction.'));
  }
}

const yes = (): boolean => true;
const no = (): boolean => false;

function outcomeUnknown(name: string): DatabaseFailure {
  const text = `The connection "${name}" was lost after COMMIT was sent. The change was made, or it was not: read the rows before you repeat it.`;
  return new DatabaseFailure('OUTCOME_UNKNOWN', text);
}
