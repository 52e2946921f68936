import type { HttpExchange } from './http-exchange.ts';

export interface AnsweredStreams {
  /** Has brought its answer, and should end by itself. */
  add(stream: HttpExchange): void;
  /** Has ended. */
  delete(stream: HttpExchange): void;
}

const MAX_OPEN = 256;

/** A server ends a stream with its answer. One that never does must not cost a socket for every call. */
export function answeredStreams(): AnsweredStreams {
  const open = new Set<HttpExchange>();
  return {
    add(stream) {
      open.add(stream);
      if (open.size <= MAX_OPEN) return;
      const [oldest] = open;
      open.delete(oldest as HttpExchange);
      oldest?.abort();
    },
    delete: (stream) => void open.delete(stream),
  };
}
