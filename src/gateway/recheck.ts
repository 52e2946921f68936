import { type Alarm, repeat } from '../core/alarm.ts';
import type { Arrival } from './arrival.ts';
import type { Outlet } from './outlet.ts';

const RECHECK_MS = 25_000;

interface Stream extends Pick<Arrival, 'stillMay'> {
  readonly response: Pick<Outlet, 'writableEnded' | 'destroyed' | 'once'>;
}

interface Ends {
  readonly stay: () => void;
  readonly leave: () => void;
}

/** Looks again and again whether whoever listens still may: a stream outlives the moment its credential was shown. */
export function recheck({ response, stillMay }: Stream, alarm: Alarm, { stay, leave }: Ends): void {
  const stop = repeat(alarm, RECHECK_MS, async () => {
    const may = await stillMay();
    if (response.writableEnded || response.destroyed) return;
    if (may) stay();
    else leave();
  });
  response.once('close', stop);
}
