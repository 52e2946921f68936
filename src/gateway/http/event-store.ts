import type { ResponseWriter } from '../response-writer.ts';

/** What a session was told lately, for a client whose line broke and who comes back for the rest. */
export interface SessionEvents {
  /** Begins a stream; who comes back to it while it is not finished is given to `resume`. */
  begin(resume: (outlet: ResponseWriter) => void): EventStream;
  /** What was said on a stream after the event of this id; undefined when no such stream is known any more. */
  after(id: string): MissedEvents | undefined;
  /** Forgets everything. */
  close(): void;
}

export interface EventStream {
  /** Keeps an event of a stream; gives the text to write, its id included. An empty one only names a place. */
  keep(data: string): string;
  /** Nothing more will be said on it. */
  finish(): void;
}

export interface MissedEvents {
  readonly events: readonly string[];
  /** Goes on with the stream where it is not finished. */
  readonly resume: ((outlet: ResponseWriter) => void) | undefined;
}

/** Bounds what all sessions together keep. */
export interface ByteCount {
  bytes: number;
}

interface Kept {
  readonly stream: number;
  readonly at: number;
  readonly text: string;
}

const MAX_EVENTS = 256;
const MAX_BYTES = 2 * 1024 * 1024;
const MAX_ROOM_BYTES = 128 * 1024 * 1024;
/** How soon a client should come back. */
const RETRY_MS = 250;

/** Keeps the newest of what one session is told, within its bounds and those of all together. */
export function sessionEvents(room: ByteCount): SessionEvents {
  let kept: Kept[] = [];
  let bytes = 0;
  let streams = 0;
  const live = new Map<number, (outlet: ResponseWriter) => void>();

  function count(change: number): void {
    bytes += change;
    room.bytes += change;
  }

  function add(event: Kept): void {
    kept.push(event);
    count(event.text.length);
    const isFull = () => kept.length > MAX_EVENTS || bytes > MAX_BYTES || room.bytes > MAX_ROOM_BYTES;
    while (kept.length > 0 && isFull()) count(-(kept.shift()?.text.length ?? 0));
  }

  return {
    begin(resume) {
      streams += 1;
      const stream = streams;
      let at = 0;
      live.set(stream, resume);
      return {
        keep(data) {
          at += 1;
          const id = `id: ${stream}-${at}\n`;
          const text = data === '' ? `${id}retry: ${RETRY_MS}\ndata:\n\n` : `${id}data: ${data}\n\n`;
          if (data !== '') add({ stream, at, text });
          return text;
        },
        finish: () => void live.delete(stream),
      };
    },
    after(id) {
      const [, stream, last] = /^(\d{1,15})-(\d{1,15})$/.exec(id)?.map(Number) ?? [];
      if (stream === undefined || last === undefined) return undefined;
      const events = kept.filter((event) => event.stream === stream && event.at > last).map(({ text }) => text);
      const resume = live.get(stream);
      return events.length === 0 && !resume ? undefined : { events, resume };
    },
    close() {
      kept = [];
      count(-bytes);
      live.clear();
    },
  };
}
