import type { Dispatcher } from 'undici';
import type { HttpExchange, ResponseHead } from './http-exchange.ts';
import { isTerminal, toTransportFailure } from './http-failure.ts';
import { unansweredPosts } from './unanswered-posts.ts';

/** The parts of a URL that undici needs. */
export interface HttpAddress {
  readonly origin: string;
  readonly path: string;
}

export const toHttpAddress = ({ origin, pathname, search }: URL): HttpAddress => ({ origin, path: pathname + search });

export interface HttpRequest {
  readonly method: 'POST' | 'GET' | 'DELETE';
  readonly address: HttpAddress;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
}

export interface HttpSenderOptions {
  readonly server: string;
  readonly dispatcher: Dispatcher;
  /** Longest wait for the server to accept a message without a response; 15 s by default. */
  readonly acceptMs?: number | undefined;
  /** Called after the third network failure in a row. */
  readonly onFailureStreak: (reason: string) => void;
}

export type HttpSender = ReturnType<typeof httpSender>;

const MAX_ANSWERED = 256;
const MAX_FAILURES = 3;
// Repeated for each request: a pool behind a proxy ignores the timeouts of its agent.
const NO_TIMEOUTS = { headersTimeout: 0, bodyTimeout: 0 } as const;

/** Sends the HTTP exchanges of one transport and keeps track of those that hold a socket. */
export function httpSender({ server, dispatcher, acceptMs, onFailureStreak }: HttpSenderOptions) {
  const sent = new Set<HttpExchange>();
  const answered = new Set<HttpExchange>();
  const unanswered = unansweredPosts(server, acceptMs);
  let failures = 0;

  // The callback runs after the failed request has been rejected.
  function countFailure(error: Error & { readonly code?: string }): void {
    if (!isTerminal(error) || ++failures < MAX_FAILURES) return;
    setImmediate(onFailureStreak, `${MAX_FAILURES} network failures in a row (${error.code}).`);
  }

  return {
    countFailure,
    /** Ends a row of network failures. */
    succeeded(): void {
      failures = 0;
    },
    sendUnanswered: unanswered.send,
    send(exchange: HttpExchange, { method, address, headers, body }: HttpRequest): Promise<ResponseHead> {
      sent.add(exchange);
      try {
        dispatcher.dispatch({ ...address, method, headers, body: body ?? null, ...NO_TIMEOUTS }, exchange);
      } catch (error) {
        exchange.onResponseError(undefined, error as Error);
      }
      return exchange.head.catch((error) => {
        countFailure(error);
        throw toTransportFailure(server, error, address.origin);
      });
    },
    /** Marks an exchange as answered. Servers should end it then; of those that do not, the newest 256 stay open. */
    answered(exchange: HttpExchange): void {
      answered.add(exchange);
      if (answered.size <= MAX_ANSWERED) return;
      const [oldest] = answered;
      answered.delete(oldest as HttpExchange);
      oldest?.abort();
    },
    /** Forgets an exchange that has ended. */
    ended(exchange: HttpExchange): void {
      sent.delete(exchange);
      answered.delete(exchange);
    },
    close(): void {
      unanswered.close();
      for (const exchange of sent) exchange.abort();
    },
  };
}
