import { type Alarm, repeat } from '../core/alarm.ts';
import type { Arrival } from './arrival.ts';

const RECHECK_MS = 25_000;

interface Ends {
  readonly stay: () => void;
  readonly leave: () => void;
}

/** Looks again and again whether whoever listens still may: a stream outlives the moment its credential was shown. */
export function recheck({ response, stillMay }: Arrival, alarm: Alarm, { stay, leave }: Ends): void {
  const stop = repeat(alarm, RECHECK_MS, async () => {
    const may = await stillMay();
    if (response.writableEnded || response.destroyed) return;
    if (may) stay();
    else leave();
  });
  response.once('close', stop);
}
