import { setTimeout as wait } from 'node:timers/promises';
import type { HttpExchange, ResponseHead } from './http-exchange.ts';

/** A requested stream; `head` is undefined when it could not be opened. */
export interface OpenedStream {
  readonly stream: HttpExchange;
  readonly head: ResponseHead | undefined;
}

export interface GetStreamOptions {
  /** Opens the stream after the last event that was received. */
  readonly open: (lastEventId: string | undefined) => Promise<OpenedStream>;
  /** Shortest delay before the stream is opened again. */
  readonly retryMs: number;
  readonly signal: AbortSignal;
}

const MAX_RETRY_MS = 30_000;

/** Keeps the GET stream of a legacy server open. The delay doubles up to 30 s while no message arrives. */
export async function keepGetStream({ open, retryMs, signal }: GetStreamOptions): Promise<void> {
  let lastEventId: string | undefined;
  for (let idle = 0; !signal.aborted; idle++) {
    const { stream, head } = await open(lastEventId);
    if (head && !head.ok && head.status < 500) return; // 405: the server has no GET stream.
    if (head?.ok && !stream.isEventStream) return;
    if (head?.ok) await stream.ended;
    if (stream.messages > 0) idle = 0;
    lastEventId = stream.lastEventId ?? lastEventId;
    // The server's `retry` can lengthen the delay, but not shorten it.
    const delay = Math.max(stream.retryMs ?? 0, retryMs) * 2 ** idle;
    await wait(Math.min(delay, MAX_RETRY_MS), undefined, { signal, ref: false }).catch(() => {});
  }
}
