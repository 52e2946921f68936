import type { Alarm } from '../core/alarm.ts';
import type { Heddle } from '../heddle.ts';
import type { Arrival } from './arrival.ts';
import type { ClientLine } from './client-line.ts';
import type { Handouts } from './handouts.ts';
import { recheck } from './recheck.ts';
import { serveLine } from './serve-stdio.ts';

/** The clients that have a line of their own, for as long as they stay. */
export interface ServedLines {
  /** Settles when the client is gone, or may no longer be here. */
  serve(arrival: Pick<Arrival, 'caller' | 'stillMay'>, line: ClientLine): Promise<void>;
  /** Leaves every client once it has its answers; those that still wait when the signal aborts are cut off. */
  close(patience: AbortSignal): Promise<void>;
}

export function servedLines(heddle: Heddle, given: Handouts, alarm: Alarm): ServedLines {
  const served = new Map<ClientLine, Promise<void>>();
  const closing = new AbortController();

  return {
    async serve({ caller, stillMay }, line) {
      const gone = serveLine({ heddle, caller, line, given }, closing.signal);
      served.set(line, gone);
      const stop = recheck(stillMay, alarm, { stay() {}, leave: () => void line.close() });
      await gone.finally(() => {
        stop();
        served.delete(line);
      });
    },
    async close(patience) {
      const cut = () => {
        for (const line of served.keys()) void line.close();
      };
      patience.addEventListener('abort', cut, { once: true });
      closing.abort();
      await Promise.all(served.values());
      patience.removeEventListener('abort', cut);
    },
  };
}
