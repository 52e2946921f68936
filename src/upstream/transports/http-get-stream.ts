import { setTimeout as timeout } from 'node:timers/promises';
import type { HttpExchange, ResponseHead } from './http-exchange.ts';
import { wantedWait } from './http-failure.ts';

/** A requested stream; `head` is undefined when it could not be opened. */
export interface OpenedStream {
  readonly stream: HttpExchange;
  readonly head: ResponseHead | undefined;
}

export interface GetStreamOptions {
  /** Opens the stream after the last event that was received. */
  readonly open: (lastEventId: string | undefined) => Promise<OpenedStream>;
  /** Called for each 404 after the stream was open: the server may no longer know the session. */
  readonly onNotFound: () => void;
  /** Shortest delay before the stream is opened again; 1 s unless given. */
  readonly retryMs?: number | undefined;
  readonly signal: AbortSignal;
  /** Waits until the delay is over or the signal aborts; uses real time unless given. */
  readonly wait?: (delayMs: number, signal: AbortSignal) => Promise<void>;
}

/** The shortest delay before a stream is opened again, unless the server gives a longer one. */
export const RETRY_MS = 1000;
const MAX_RETRY_MS = 30_000;
/** The statuses below 500 of a server that may accept the next GET. */
const TEMPORARY = new Set([408, 425, 429]);

/** Keeps the GET stream of a legacy server open. The delay doubles up to 30 s while no message arrives. */
export async function keepGetStream(options: GetStreamOptions): Promise<void> {
  const { open, onNotFound, retryMs = RETRY_MS, signal, wait = waitFor } = options;
  let lastEventId: string | undefined;
  let wasOpen = false;
  for (let idle = 0; !signal.aborted; idle++) {
    const opened = await open(lastEventId);
    const { stream, head } = opened;
    // Some servers without a GET stream respond 404 instead of 405. Their sessions are not lost.
    if (head?.status === 404 && wasOpen) onNotFound();
    else if (isFinal(opened)) return;
    if (head?.ok) await stream.ended;
    wasOpen ||= head?.ok === true;
    if (stream.messages > 0) idle = 0;
    lastEventId = stream.lastEventId ?? lastEventId;
    await wait(delayAfter(opened, retryMs, 2 ** idle), signal);
  }
}

/** Tests whether the server has no GET stream. */
function isFinal({ stream, head }: OpenedStream): boolean {
  if (!head) return false;
  return head.ok ? !stream.isEventStream : head.status < 500 && !TEMPORARY.has(head.status);
}

// `retry` and `Retry-After` of the server can lengthen the delay, but not shorten it.
function delayAfter({ stream, head }: OpenedStream, retryMs: number, factor: number): number {
  const delay = Math.min(Math.max(stream.retryMs ?? 0, retryMs) * factor, MAX_RETRY_MS);
  return Math.max(delay, (head && wantedWait(head)) ?? 0);
}

const waitFor = (delayMs: number, signal: AbortSignal): Promise<void> =>
  timeout(delayMs, undefined, { signal, ref: false }).catch(() => {});
