import { setTimeout as wait } from 'node:timers/promises';
import type { HttpExchange, ResponseHead } from './http-exchange.ts';

/** A stream that was asked for; its head is undefined when it could not be opened. */
export interface OpenedStream {
  readonly stream: HttpExchange;
  readonly head: ResponseHead | undefined;
}

export interface GetStreamOptions {
  /** Opens it, where the server knows how from after the last event that was heard. */
  readonly open: (lastEventId: string | undefined) => Promise<OpenedStream>;
  /** How long it waits at least before it is opened again. */
  readonly retryMs: number;
  readonly signal: AbortSignal;
}

const MAX_RETRY_MS = 30_000;

/** Keeps the stream open on which a legacy server speaks unasked. Backs off while it brings nothing. */
export async function keepGetStream({ open, retryMs, signal }: GetStreamOptions): Promise<void> {
  let lastEventId: string | undefined;
  for (let idle = 0; !signal.aborted; idle++) {
    const { stream, head } = await open(lastEventId);
    if (head && !head.ok && head.status < 500) return; // 405: this server has none.
    if (head?.ok && !stream.isEventStream) return;
    if (head?.ok) await stream.ended;
    if (stream.messages > 0) idle = 0;
    lastEventId = stream.lastEventId ?? lastEventId;
    // A server may want more time than that, but not less: it could keep us busy for ever.
    const delay = Math.max(stream.retryMs ?? 0, retryMs) * 2 ** idle;
    await wait(Math.min(delay, MAX_RETRY_MS), undefined, { signal, ref: false }).catch(() => {});
  }
}
