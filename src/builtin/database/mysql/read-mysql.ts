import type { RowSet, Statement, StatementOptions } from '../database.ts';
import { DatabaseFailure } from '../database-failure.ts';
import { type Deadline, startDeadline } from '../deadline.ts';
import type { MysqlAddress } from './mysql-address.ts';
import { explainMysqlAnswer, explainMysqlLoss, isMysqlAnswer } from './mysql-failure.ts';
import { type MysqlServer, mysqlSettings } from './mysql-server.ts';
import type { MysqlSession } from './mysql-session.ts';
import type { MysqlSessions } from './mysql-sessions.ts';

/** The open server of one connection. */
export interface MysqlHandle {
  readonly connection: string;
  readonly address: MysqlAddress;
  readonly server: MysqlServer;
  readonly sessions: MysqlSessions;
}

interface Reading extends StatementOptions {
  /** True for EXPLAIN of a writing statement, which a READ ONLY transaction refuses. */
  readonly isWritable?: boolean;
  /** True for a statement that some servers cannot prepare. */
  readonly allowsText?: boolean;
}

/** The plan of a change may lock rows that a unique key finds. It does not hold them while it waits for others. */
const PLAN_SETTINGS = ', SESSION innodb_lock_wait_timeout = 1';

/** Runs a statement and reads its rows within the limits. Its transaction is rolled back. */
export async function readMysql(handle: MysqlHandle, statement: Statement, options: Reading): Promise<RowSet> {
  const { sessions, server } = handle;
  const { maxRows, maxBytes, isWritable = false, allowsText = false } = options;
  const deadline = startDeadline(options);
  const settings = `${mysqlSettings(server, options, maxRows)}${isWritable ? PLAN_SETTINGS : ''}`;
  let session: MysqlSession | undefined;
  try {
    session = await sessions.begin(
      { settings, begin: `START TRANSACTION ${isWritable ? 'READ WRITE' : 'READ ONLY'}` },
      deadline,
    );
    const answer = await deadline.race(
      session.execute(statement, { maxRows, maxBytes, endsAtLimit: true, allowsText }),
    );
    // After the limit the server may still send rows.
    if (answer.truncated) sessions.abandon(session);
    else sessions.release(session);
    return { columns: answer.columns, rows: answer.rows, truncated: answer.truncated };
  } catch (error) {
    if (session) giveBack(sessions, session, deadline);
    throw explainMysqlError(handle, error, deadline);
  } finally {
    deadline.clear();
  }
}

/** Resets a connection whose statement was answered, and cuts one whose statement may still run. */
function giveBack(sessions: MysqlSessions, session: MysqlSession, deadline: Deadline): void {
  if (deadline.failure() || session.isLost) sessions.abandon(session);
  else sessions.release(session);
}

/** Explains an error of a call: its own end, the answer of the server, or the loss of the connection. */
export function explainMysqlError(handle: MysqlHandle, error: unknown, deadline: Deadline): DatabaseFailure {
  if (error instanceof DatabaseFailure) return error;
  const failure = deadline.failure();
  if (failure) return failure;
  return isMysqlAnswer(error) ? explainMysqlAnswer(error, handle.address) : explainMysqlLoss(error, handle.connection);
}
