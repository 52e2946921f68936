import type { DatabaseSync } from 'node:sqlite';

export interface IdleCheckpoint {
  /** Reports that rows were committed. */
  wrote(rows: number): void;
  close(): void;
}

const IDLE_MS = 1_000;
// Fewer rows are not worth a disk write.
const MANY_ROWS = 1_000;

/**
 * Moves the write-ahead log into the database after one second without a write. This blocks the process for some tens
 * of milliseconds, which would otherwise delay calls.
 */
export function idleCheckpoint(db: DatabaseSync): IdleCheckpoint {
  let rows = 0;
  let timer: NodeJS.Timeout | undefined;

  function checkpoint(): void {
    rows = 0;
    try {
      db.exec('PRAGMA wal_checkpoint(PASSIVE)');
    } catch {
      // The log still has all rows. If the disk cannot be written, the next commit fails.
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
