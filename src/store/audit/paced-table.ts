import { setTimeout } from 'node:timers/promises';
import { type AuditTable, idsOf } from './read-audit.ts';

// A fifth of the time is left to the reader. Lowest priority alone still doubled the latency of calls on two cores.
const PAUSE_RATIO = 4;
const MAX_PAUSE_MS = 200;

interface PaceOptions {
  /** Milliseconds that only grow. */
  readonly clock?: () => number;
  readonly pause?: (milliseconds: number) => Promise<unknown>;
}

/**
 * Returns a table whose reads leave time to the writer: while records are being written, each read waits in proportion
 * to the time since the read before it began. While nothing is written, no read waits.
 */
export function pacedTable(
  table: AuditTable,
  { clock = () => performance.now(), pause = setTimeout }: PaceOptions = {},
): AuditTable {
  let newest: number | undefined;
  let startedAt = clock();
  async function leaveTime(): Promise<void> {
    const { last } = await idsOf(table);
    const isGrowing = newest !== undefined && last > newest;
    newest = last;
    if (isGrowing) await pause(Math.min(MAX_PAUSE_MS, PAUSE_RATIO * (clock() - startedAt)));
    startedAt = clock();
  }
  return {
    schema: table.schema,
    async read(statement) {
      await leaveTime();
      return table.read(statement);
    },
  };
}
