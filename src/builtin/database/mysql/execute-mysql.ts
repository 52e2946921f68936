import { realTimer } from '../../../core/time.ts';
import type { Execution, Statement, StatementOptions } from '../database.ts';
import { DatabaseFailure } from '../database-failure.ts';
import { type Deadline, startDeadline } from '../deadline.ts';
import type { MysqlWrite } from './check-mysql-write.ts';
import { isMysqlAnswer, mysqlErrorNumber } from './mysql-failure.ts';
import { mysqlSettings } from './mysql-server.ts';
import type { MysqlAnswer, MysqlSession } from './mysql-session.ts';
import { explainMysqlError, type MysqlHandle } from './read-mysql.ts';
import { canRollBack, rollBack } from './roll-back-mysql.ts';

/** A checked writing statement with its values and limits. */
export interface MysqlChange {
  readonly statement: Statement;
  readonly checked: MysqlWrite;
  readonly options: StatementOptions;
}

/** The longest wait for an answer after the end of a call. */
const GRACE_MS = 300;
const DEADLOCK = 1213;

/** Runs a writing statement and commits it. Nothing is sent twice. */
export async function executeMysql(handle: MysqlHandle, change: MysqlChange): Promise<Execution> {
  const deadline = startDeadline(change.options);
  const settings = mysqlSettings(handle.server, change.options);
  const { isDefinition } = change.checked;
  const begin = isDefinition ? 'SET autocommit = 1' : 'START TRANSACTION READ WRITE';
  try {
    const session = await handle.sessions.begin({ settings, begin }, deadline).catch((error) => {
      throw explainMysqlError(handle, error, deadline);
    });
    const write = new Write(handle, session, deadline);
    return toExecution(isDefinition ? await write.define(change) : await write.commit(change));
  } finally {
    deadline.clear();
  }
}

const toExecution = ({ columns, rows, truncated, count }: MysqlAnswer): Execution => ({
  columns,
  rows,
  truncated,
  // After RETURNING the server reports no count. It sent one row per changed row.
  affectedRows: count,
});

/** A write on one connection, which it gives back. */
class Write {
  readonly #handle: MysqlHandle;
  readonly #session: MysqlSession;
  readonly #deadline: Deadline;
  #isUndoable = false;

  constructor(handle: MysqlHandle, session: MysqlSession, deadline: Deadline) {
    this.#handle = handle;
    this.#session = session;
    this.#deadline = deadline;
  }

  /** Changes rows in the open transaction, then commits. */
  async commit({ statement, checked, options }: MysqlChange): Promise<MysqlAnswer> {
    let running: Promise<MysqlAnswer> | undefined;
    let answer: MysqlAnswer;
    try {
      this.#isUndoable = await this.#deadline.race(canRollBack(this.#session, checked));
      running = this.#execute(statement, options);
      answer = await this.#deadline.race(running);
      const ended = this.#deadline.failure();
      if (ended) throw ended;
    } catch (error) {
      throw await this.#undo(error, running);
    }
    await this.#sendCommit();
    this.#handle.sessions.release(this.#session);
    return answer;
  }

  /** Runs a definition, which the server commits by itself. */
  async define({ statement, checked, options }: MysqlChange): Promise<MysqlAnswer> {
    const running = this.#execute(statement, options);
    try {
      const answer = await this.#deadline.race(running);
      this.#handle.sessions.release(this.#session);
      return answer;
    } catch (error) {
      const late = await this.#end(running);
      const isAnswered = !this.#deadline.failure() && !this.#session.isLost;
      if (isAnswered && !checked.mayHalfApply) {
        this.#handle.sessions.release(this.#session);
        throw explainMysqlError(this.#handle, error, this.#deadline);
      }
      this.#handle.sessions.abandon(this.#session);
      if (late) return late;
      throw unknownOutcome('the connection was lost, or the statement was ended, while the database ran it', error);
    }
  }

  #execute(statement: Statement, { maxRows, maxBytes }: StatementOptions): Promise<MysqlAnswer> {
    const running = this.#session.execute(statement, { maxRows, maxBytes, endsAtLimit: false, allowsText: true });
    running.catch(() => {}); // Reported by the race; after the end of the call it is not.
    return running;
  }

  /** Ends a statement that still runs. Returns its answer if it had finished. */
  async #end(running: Promise<MysqlAnswer> | undefined): Promise<MysqlAnswer | undefined> {
    if (!this.#deadline.failure() || !running) return undefined;
    void this.#handle.sessions.killStatement(this.#session).catch(() => {});
    return waitAtMost(
      GRACE_MS,
      running.catch(() => undefined),
    );
  }

  /** Rolls back. Returns the failure of the call, or OUTCOME_UNKNOWN if changes may have stayed. */
  async #undo(error: unknown, running: Promise<MysqlAnswer> | undefined): Promise<DatabaseFailure> {
    const failure = explainMysqlError(this.#handle, error, this.#deadline);
    await this.#end(running);
    const isEnded = this.#deadline.failure() !== undefined;
    const undone = this.#session.isLost ? undefined : await waitAtMost(GRACE_MS, rollBack(this.#session));
    if (isEnded || undone === undefined) this.#handle.sessions.abandon(this.#session);
    else this.#handle.sessions.release(this.#session);
    // Without `running`, the statement was not sent.
    if (undone ?? (!running || this.#isUndoable)) return rolledBack(failure);
    return unknownOutcome('it changed a table whose engine cannot roll back', error);
  }

  async #sendCommit(): Promise<void> {
    const { promise: overdue, reject } = Promise.withResolvers<never>();
    overdue.catch(() => {}); // The commit may win.
    const forget = this.#deadline.onEnd(() => {
      realTimer(GRACE_MS, () => reject(new Error('COMMIT was not answered in time.')));
    });
    try {
      await Promise.race([this.#session.run('COMMIT'), overdue]);
    } catch (error) {
      this.#handle.sessions.drop(this.#session);
      if (isMysqlAnswer(error) && mysqlErrorNumber(error) === DEADLOCK) {
        throw rolledBack(explainMysqlError(this.#handle, error, this.#deadline));
      }
      throw unknownOutcome('the connection was lost after COMMIT was sent', error);
    } finally {
      forget();
    }
  }
}

/** Waits for a promise at most this long; undefined if that passes or the promise is rejected. */
function waitAtMost<T>(delayMs: number, promise: Promise<T>): Promise<T | undefined> {
  return new Promise((resolve) => {
    const stop = realTimer(delayMs, () => resolve(undefined));
    promise.then(resolve, () => resolve(undefined)).finally(stop);
  });
}

const rolledBack = (failure: DatabaseFailure): DatabaseFailure =>
  failure.code === 'INPUT_INVALID'
    ? failure
    : new DatabaseFailure(failure.code, `${failure.message} Nothing was changed: the write was rolled back.`, {
        cause: failure,
      });

const unknownOutcome = (reason: string, cause: unknown): DatabaseFailure =>
  new DatabaseFailure(
    'OUTCOME_UNKNOWN',
    `The outcome of the statement is unknown: ${reason}. Read the data before you send it again.`,
    { cause },
  );
