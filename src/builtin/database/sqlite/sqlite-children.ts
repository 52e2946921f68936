import type { StatementOptions } from '../database.ts';
import { DatabaseFailure } from '../database-failure.ts';
import { type ChildReply, type ChildRequest, type ChildResult, COMMIT } from './child-messages.ts';
import { type ChildPoolOptions, childPool } from './child-pool.ts';
import type { SqliteChild } from './sqlite-child-process.ts';

type Limits = Pick<StatementOptions, 'timeoutMs' | 'signal'>;

export interface SqliteChildren {
  run(request: ChildRequest, limits: Limits): Promise<ChildResult>;
  /** Ends idle children at once, the others after their statement. */
  close(): Promise<void>;
}

/** Why a statement is ended before its reply. */
type Stop = 'TIMED_OUT' | 'CANCELLED';

/** Runs requests in the children of a connection, within their time. */
export function sqliteChildren(options: ChildPoolOptions): SqliteChildren {
  const pool = childPool(options);
  const running = new Set<Promise<ChildResult>>();
  let isClosed = false;

  async function run(request: ChildRequest, { timeoutMs, signal }: Limits): Promise<ChildResult> {
    if (signal.aborted) throw stopped('CANCELLED', timeoutMs, '. It was not sent');
    const { promise: stop, resolve } = Promise.withResolvers<Stop>();
    const cancel = () => resolve('CANCELLED');
    const timer = setTimeout(resolve, timeoutMs, 'TIMED_OUT');
    signal.addEventListener('abort', cancel, { once: true });
    try {
      const child = await pool.take(stop);
      if (!child) throw stopped(await stop, timeoutMs, ' while it waited for other statements');
      const reply = await runIn(child, request, { stop, timeoutMs });
      pool.giveBack(child);
      if ('error' in reply) throw new DatabaseFailure(reply.error.code, reply.error.message);
      return reply;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', cancel);
    }
  }

  return {
    async run(request, limits) {
      if (isClosed) throw new DatabaseFailure('CONNECTION_FAILED', 'The connection was closed. Try again.');
      const task = run(request, limits);
      running.add(task);
      try {
        return await task;
      } finally {
        running.delete(task);
      }
    },
    async close() {
      isClosed = true;
      await Promise.all([pool.endIdle(), Promise.allSettled(running)]);
      await pool.close();
    },
  };
}

type FinalReply = Exclude<ChildReply, { readonly ready: true }>;

/** Returns the last reply to a request. Throws when the child is lost, which is then ending. */
async function runIn(
  child: SqliteChild,
  request: ChildRequest,
  { stop, timeoutMs }: { readonly stop: Promise<Stop>; readonly timeoutMs: number },
): Promise<FinalReply> {
  const effect = request.kind === 'execute' ? 'It was rolled back' : 'It was ended';
  const reply = await orKill(child, Promise.race([stop, child.ask(JSON.stringify(request))]));
  if (typeof reply === 'string') throw stopped(reply, timeoutMs, `. ${effect}`);
  if (!reply) throw lost(effect);
  if (!('ready' in reply)) return reply;
  // From here on a cancellation is too late.
  const timeout = stop.then((reason) => (reason === 'TIMED_OUT' ? reason : new Promise<never>(() => {})));
  const committed = await orKill(child, Promise.race([child.ask(COMMIT), timeout]));
  if (typeof committed === 'object' && !('ready' in committed)) return committed;
  const reason = 'The SQLite process was lost after COMMIT was sent, so the changes may have been kept or not';
  throw new DatabaseFailure('OUTCOME_UNKNOWN', `${reason}. Read the rows to find out.`);
}

/** Kills the child if the statement is stopped before its reply. */
async function orKill<T>(child: SqliteChild, first: Promise<T | Stop>): Promise<T | Stop> {
  const reply = await first;
  if (typeof reply === 'string') child.kill();
  return reply;
}

function lost(effect: string): DatabaseFailure {
  const reason = 'The SQLite process ended during the statement: it used too much memory, or was killed';
  return new DatabaseFailure('CONNECTION_FAILED', `${reason}. ${effect}. Try again, or narrow the statement.`);
}

function stopped(reason: Stop, timeoutMs: number, effect: string): DatabaseFailure {
  if (reason === 'CANCELLED') return new DatabaseFailure(reason, `The statement was cancelled${effect}.`);
  const fix = 'Narrow it, or raise queryTimeoutMs in the configuration';
  return new DatabaseFailure(reason, `The statement took longer than ${timeoutMs} ms${effect}. ${fix}.`);
}
