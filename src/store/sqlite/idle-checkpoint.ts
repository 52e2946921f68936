import type { DatabaseSync } from 'node:sqlite';

export interface IdleCheckpoint {
  /** Says that rows were committed just now. */
  wrote(rows: number): void;
  close(): void;
}

const IDLE_MS = 1_000;
// Fewer are not worth waking the disk for.
const MANY_ROWS = 1_000;

/**
 * Moves the write-ahead log into the database once nobody has written for a second. It stops the process for as long
 * as the disk takes, some tens of milliseconds: better then than in the middle of many calls.
 */
export function idleCheckpoint(db: DatabaseSync): IdleCheckpoint {
  let rows = 0;
  let timer: NodeJS.Timeout | undefined;

  function checkpoint(): void {
    rows = 0;
    try {
      db.exec('PRAGMA wal_checkpoint(PASSIVE)');
    } catch {
      // The log holds everything still; whether it can be written is for the next commit to say.
    }
  }

  return {
    wrote(count) {
      rows += count;
      if (timer) timer.refresh();
      else if (rows >= MANY_ROWS) {
        timer = setTimeout(() => {
          timer = undefined;
          checkpoint();
        }, IDLE_MS).unref();
      }
    },
    close: () => clearTimeout(timer),
  };
}
