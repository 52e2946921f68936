import type { ResolvedCall } from '../../core/call.ts';
import type { Timer } from '../../core/time.ts';
import type { Tried } from './attempt.ts';

export interface HedgeOptions {
  readonly call: ResolvedCall;
  readonly first: (call: ResolvedCall) => Promise<Tried>;
  /** Returns the attempt at another server; undefined if there is none. */
  readonly second: () => ((call: ResolvedCall) => Promise<Tried>) | undefined;
  readonly afterMs: number;
  readonly timer: Timer;
}

/** Calls a second server if the first has no result after `afterMs`. The first result wins, and the other call is cancelled. */
export function hedge({ call, first, second, afterMs, timer }: HedgeOptions): Promise<Tried> {
  const { promise, resolve, reject } = Promise.withResolvers<Tried>();
  const running = new Set<AbortController>();

  function begin(attempt: (call: ResolvedCall) => Promise<Tried>, sent: ResolvedCall): void {
    const abort = new AbortController();
    running.add(abort);
    const signal = AbortSignal.any([call.signal, abort.signal]);
    attempt({ ...sent, signal }).then((tried) => {
      running.delete(abort);
      const settles = 'result' in tried || !tried.mayGoOn;
      if (!settles && running.size > 0) return;
      cancel();
      resolve(tried);
      for (const other of running) other.abort();
    }, reject);
  }

  const cancel = timer(afterMs, () => {
    const attempt = second();
    const { onProgress: _, ...silent } = call; // Progress of two servers would not be monotonic.
    if (attempt) begin(attempt, silent);
  });
  begin(first, call);
  return promise;
}
