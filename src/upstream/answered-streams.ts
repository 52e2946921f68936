import type { Exchange } from './http-exchange.ts';

export interface AnsweredStreams {
  /** Has brought its answer, and should end by itself. */
  add(stream: Exchange): void;
  /** Has ended. */
  delete(stream: Exchange): void;
}

const MAX_OPEN = 256;

/** A server ends a stream with its answer. One that never does must not cost a socket for every call. */
export function answeredStreams(): AnsweredStreams {
  const open = new Set<Exchange>();
  return {
    add(stream) {
      open.add(stream);
      if (open.size <= MAX_OPEN) return;
      const [oldest] = open;
      open.delete(oldest as Exchange);
      oldest?.abort();
    },
    delete: (stream) => void open.delete(stream),
  };
}
