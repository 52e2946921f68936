import { type Alarm, repeat } from '../core/alarm.ts';
import type { Arrival } from './arrival.ts';

const RECHECK_MS = 25_000;

interface Ends {
  readonly stay: () => void;
  readonly leave: () => void;
}

/**
 * Looks again and again whether whoever stays still may: a stream or a line outlives the moment its credential was
 * shown. What it returns ends that.
 */
export function recheck(stillMay: Arrival['stillMay'], alarm: Alarm, { stay, leave }: Ends): () => void {
  let over = false;
  const stop = repeat(alarm, RECHECK_MS, async () => {
    const may = await stillMay();
    if (over) return;
    if (may) stay();
    else leave();
  });
  return () => {
    over = true;
    stop();
  };
}
