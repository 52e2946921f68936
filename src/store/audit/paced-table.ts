import { setTimeout } from 'node:timers/promises';
import { type AuditTable, idsOf, WINDOW } from './read-audit.ts';

// Lowest priority alone doubled the latency of calls on two cores. A busy writer leaves a fortieth of the time to the
// reader, one with few records a half.
const MAX_PAUSE_RATIO = 39;
const RECORDS_PER_SECOND_AND_RATIO = 100;
const MAX_PAUSE_MS = 200;
/** Ids of one read while records are written: a call that waits for the core or the disk then waits well under 1 ms. */
const BUSY_WINDOW = 25;

interface PaceOptions {
  /** Milliseconds that only grow. */
  readonly clock?: () => number;
  readonly pause?: (milliseconds: number) => Promise<unknown>;
}

/**
 * Returns a table whose reads leave time to the writer: each read waits in proportion to the time that the read before
 * it took, and to the rate at which records are written meanwhile, and is short. While nothing is written, no read waits.
 */
export function pacedTable(
  table: AuditTable,
  { clock = () => performance.now(), pause = setTimeout }: PaceOptions = {},
): AuditTable {
  let newest: number | undefined;
  let examinedAt = clock();
  let startedAt = examinedAt;
  let isBusy = false;
  async function leaveTime(): Promise<void> {
    const { last } = await idsOf(table);
    const now = clock();
    const written = newest === undefined ? 0 : last - newest;
    newest = last;
    isBusy = written > 0;
    if (isBusy) {
      const ratio = pauseRatio((written * 1000) / Math.max(1, now - examinedAt));
      await pause(Math.min(MAX_PAUSE_MS, ratio * (now - startedAt)));
    }
    examinedAt = now;
    startedAt = clock();
  }
  return {
    schema: table.schema,
    get window() {
      return isBusy ? BUSY_WINDOW : WINDOW;
    },
    async read(statement) {
      await leaveTime();
      return table.read(statement);
    },
  };
}

const pauseRatio = (recordsPerSecond: number): number =>
  Math.min(MAX_PAUSE_RATIO, Math.max(1, recordsPerSecond / RECORDS_PER_SECOND_AND_RATIO));
