import type { ResponseWriter } from '../response-writer.ts';

/** The recent events of a session, kept so that a client can resume a broken stream with `Last-Event-ID`. */
export interface SessionEvents {
  /** Begins a stream. While it is unfinished, a client that reconnects to it is passed to `resume`. */
  begin(resume: (response: ResponseWriter) => void): EventStream;
  /** Returns the events of a stream after an event id; undefined if the stream is unknown or forgotten. */
  after(id: string): MissedEvents | undefined;
  /** Drops all events and streams. */
  close(): void;
}

export interface EventStream {
  /** Stores an event and returns its SSE text with its id. An event without data only sets the last event id. */
  keep(data: string): string;
  /** Marks the stream as complete. */
  finish(): void;
}

export interface MissedEvents {
  readonly events: readonly string[];
  /** Continues the stream on another response; undefined if the stream is finished. */
  readonly resume: ((response: ResponseWriter) => void) | undefined;
}

/** The number of characters that all sessions keep together. */
export interface ByteCount {
  bytes: number;
}

interface StoredEvent {
  readonly stream: number;
  readonly sequence: number;
  readonly text: string;
}

const MAX_EVENTS = 256;
const MAX_BYTES = 2 * 1024 * 1024;
const MAX_TOTAL_BYTES = 128 * 1024 * 1024;
/** The reconnect delay that clients are given in the SSE `retry` field. */
const RETRY_MS = 250;

/** Keeps the newest events of one session, at most 256 and 2 MB. All sessions together keep at most 128 MB. */
export function sessionEvents(total: ByteCount): SessionEvents {
  let stored: StoredEvent[] = [];
  let bytes = 0;
  let streams = 0;
  const unfinished = new Map<number, (response: ResponseWriter) => void>();

  function count(change: number): void {
    bytes += change;
    total.bytes += change;
  }

  function add(event: StoredEvent): void {
    stored.push(event);
    count(event.text.length);
    const isFull = () => stored.length > MAX_EVENTS || bytes > MAX_BYTES || total.bytes > MAX_TOTAL_BYTES;
    while (stored.length > 0 && isFull()) count(-(stored.shift()?.text.length ?? 0));
  }

  return {
    begin(resume) {
      streams += 1;
      const stream = streams;
      let sequence = 0;
      unfinished.set(stream, resume);
      return {
        keep(data) {
          sequence += 1;
          const id = `id: ${stream}-${sequence}\n`;
          const text = data === '' ? `${id}retry: ${RETRY_MS}\ndata:\n\n` : `${id}data: ${data}\n\n`;
          if (data !== '') add({ stream, sequence, text });
          return text;
        },
        finish: () => void unfinished.delete(stream),
      };
    },
    after(id) {
      const [, stream, last] = /^(\d{1,15})-(\d{1,15})$/.exec(id)?.map(Number) ?? [];
      if (stream === undefined || last === undefined) return undefined;
      const events = stored.filter((event) => event.stream === stream && event.sequence > last).map(({ text }) => text);
      const resume = unfinished.get(stream);
      return events.length === 0 && !resume ? undefined : { events, resume };
    },
    close() {
      stored = [];
      count(-bytes);
      unfinished.clear();
    },
  };
}
