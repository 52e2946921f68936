import type { ResolvedCall } from '../../core/call.ts';
import type { Timer } from '../../core/time.ts';
import type { Tried } from './attempt.ts';

export interface HedgeOptions {
  readonly call: ResolvedCall;
  readonly first: (call: ResolvedCall) => Promise<Tried>;
  /** Asked when the first has not answered in time; undefined when there is nobody else. */
  readonly second: () => ((call: ResolvedCall) => Promise<Tried>) | undefined;
  readonly afterMs: number;
  readonly alarm: Timer;
}

/** Asks another server besides one that takes long. Whoever settles the matter first wins, the other is called off. */
export function hedge({ call, first, second, afterMs, alarm }: HedgeOptions): Promise<Tried> {
  const { promise, resolve, reject } = Promise.withResolvers<Tried>();
  const running = new Set<AbortController>();

  function begin(ask: (call: ResolvedCall) => Promise<Tried>, asked: ResolvedCall): void {
    const abort = new AbortController();
    running.add(abort);
    const signal = AbortSignal.any([call.signal, abort.signal]);
    ask({ ...asked, signal }).then((tried) => {
      running.delete(abort);
      const settles = 'result' in tried || !tried.mayGoOn;
      if (!settles && running.size > 0) return;
      cancel();
      resolve(tried);
      for (const other of running) other.abort();
    }, reject);
  }

  const cancel = alarm(afterMs, () => {
    const ask = second();
    const { onProgress: _, ...silent } = call; // Two that tell how far they are would tell of going back.
    if (ask) begin(ask, silent);
  });
  begin(first, call);
  return promise;
}
