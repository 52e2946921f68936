import type { Watchdog } from '../../../process/watchdog.ts';
import { type SqliteChild, startSqliteChild } from './sqlite-child-process.ts';

export interface ChildPoolOptions {
  readonly watchdog: Watchdog;
  /** How long a child without work is kept. */
  readonly idleMs?: number;
}

/** The children of one connection: at most two, each with one request at a time. */
export interface ChildPool {
  /** Returns a child of the caller alone. Returns undefined if there was none before the promise settled. */
  take(giveUp: Promise<unknown>): Promise<SqliteChild | undefined>;
  /** Takes back a child that waits for its next request. A killed child is not given back. */
  giveBack(child: SqliteChild): void;
  /** Ends all children. They must have been given back or killed. */
  close(): Promise<void>;
  /** Ends the children without work. */
  endIdle(): Promise<void>;
}

const MOST_CHILDREN = 2;
const IDLE_MS = 60_000;

/** Makes the pool of a connection. The first request starts a child. */
export function childPool({ watchdog, idleMs = IDLE_MS }: ChildPoolOptions): ChildPool {
  const all = new Set<SqliteChild>();
  const idle = new Map<SqliteChild, NodeJS.Timeout>();
  const queue = new Set<(child: SqliteChild | undefined) => void>();

  function start(): SqliteChild {
    const child = startSqliteChild(watchdog);
    all.add(child);
    // A killed child counts until it is gone.
    void child.ended.then(() => {
      unlist(child);
      all.delete(child);
      const [next] = queue;
      if (next && queue.delete(next)) next(start());
    });
    return child;
  }

  function unlist(child: SqliteChild): void {
    clearTimeout(idle.get(child));
    idle.delete(child);
  }

  const end = (child: SqliteChild): Promise<void> => {
    unlist(child);
    return child.end();
  };

  return {
    async take(giveUp) {
      const free = [...idle.keys()].find((child) => child.isRunning());
      if (free) {
        unlist(free);
        return free;
      }
      if (all.size < MOST_CHILDREN) return start();
      const turn = Promise.withResolvers<SqliteChild | undefined>();
      queue.add(turn.resolve);
      void giveUp.then(() => queue.delete(turn.resolve) && turn.resolve(undefined));
      return turn.promise;
    },
    giveBack(child) {
      const [next] = queue;
      if (next && queue.delete(next)) next(child);
      else idle.set(child, setTimeout(() => void end(child), idleMs).unref());
    },
    async endIdle() {
      await Promise.all([...idle.keys()].map(end));
    },
    async close() {
      await Promise.all([...all].map((child) => (idle.has(child) ? end(child) : child.ended)));
    },
  };
}
