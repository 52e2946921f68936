import { limiter } from '../../core/async/limiter.ts';
import { HeddleError, UpstreamError } from '../../core/errors.ts';
import type { HttpExchange, ResponseHead } from './http-exchange.ts';
import { toTransportFailure } from './http-failure.ts';

export interface Post {
  readonly exchange: HttpExchange;
  readonly dispatch: () => Promise<ResponseHead>;
  readonly signal?: AbortSignal | undefined;
}

/** POSTs of messages without a response: notifications and our responses. No request deadline ends them. */
export interface UnansweredPosts {
  /** Settles when the server has accepted the message. Rejects after 15 s. */
  send(post: Post): Promise<ResponseHead>;
  /** Gives up on all of them. */
  close(): void;
}

const POST_MS = 15_000;
const MAX_AT_ONCE = 32;
const MAX_WAITING = 1000;

export function unansweredPosts(server: string, ms = POST_MS): UnansweredPosts {
  const limited = limiter(MAX_AT_ONCE);
  const inFlight = new Set<(error: Error) => void>();

  function send({ exchange, dispatch, signal }: Post): Promise<ResponseHead> {
    if (signal?.aborted) return Promise.reject(cancelled(server));
    if (inFlight.size >= MAX_AT_ONCE + MAX_WAITING) return Promise.reject(stuck(server));
    const head = Promise.withResolvers<ResponseHead>();
    const over = Promise.withResolvers<void>();
    const giveUp = (error: Error) => {
      head.reject(error);
      exchange.abort();
      over.resolve();
    };
    const onAbort = () => giveUp(cancelled(server));
    const timer = setTimeout(() => giveUp(late(server, ms)), ms).unref();
    inFlight.add(giveUp);
    signal?.addEventListener('abort', onAbort, { once: true });
    const post = async () => {
      try {
        head.resolve(await dispatch());
        await exchange.ended; // It holds a socket until its body has ended.
      } catch (thrown) {
        head.reject(thrown);
      }
    };
    void limited(() => (exchange.aborted ? over.promise : Promise.race([post(), over.promise]))).then(() => {
      clearTimeout(timer);
      inFlight.delete(giveUp);
      signal?.removeEventListener('abort', onAbort);
    });
    return head.promise;
  }

  return {
    send,
    close() {
      for (const giveUp of inFlight) giveUp(toTransportFailure(server, new Error('it was closed')));
    },
  };
}

const cancelled = (server: string) => new HeddleError('CALL_CANCELLED', `The message to ${server} was cancelled.`);
const late = (server: string, ms: number) =>
  new UpstreamError('UPSTREAM_TIMEOUT', `${server} did not accept a message within ${ms} ms.`, { delivered: 'maybe' });
const stuck = (server: string) =>
  new UpstreamError('UPSTREAM_FAILED', `${server} does not accept messages: more than 1000 are waiting.`, {
    delivered: 'no',
  });
