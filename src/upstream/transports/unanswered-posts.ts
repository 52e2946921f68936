import { limiter } from '../../core/async/limiter.ts';
import { HeddleError, UpstreamError } from '../../core/errors.ts';
import type { HttpExchange, ResponseHead } from './http-exchange.ts';
import { toTransportFailure } from './http-failure.ts';

export interface Post {
  readonly exchange: HttpExchange;
  readonly dispatch: () => Promise<ResponseHead>;
  readonly signal?: AbortSignal | undefined;
}

/** Messages that nobody answers, notifications and our own answers: so nobody else would ever give up on them. */
export interface UnansweredPosts {
  /** Settles when the server has accepted the message, or has not done so in time. */
  send(post: Post): Promise<ResponseHead>;
  /** Gives up on all of them. */
  close(): void;
}

const POST_MS = 15_000;
const MAX_AT_ONCE = 32;
const MAX_WAITING = 1000;

export function unansweredPosts(server: string, ms = POST_MS): UnansweredPosts {
  const limited = limiter(MAX_AT_ONCE);
  const underWay = new Set<(error: Error) => void>();

  function send({ exchange, dispatch, signal }: Post): Promise<ResponseHead> {
    if (signal?.aborted) return Promise.reject(cancelled(server));
    if (underWay.size >= MAX_AT_ONCE + MAX_WAITING) return Promise.reject(stuck(server));
    const head = Promise.withResolvers<ResponseHead>();
    const over = Promise.withResolvers<void>();
    const giveUp = (error: Error) => {
      head.reject(error);
      exchange.abort();
      over.resolve();
    };
    const onAbort = () => giveUp(cancelled(server));
    const timer = setTimeout(() => giveUp(late(server, ms)), ms).unref();
    underWay.add(giveUp);
    signal?.addEventListener('abort', onAbort, { once: true });
    const post = async () => {
      try {
        head.resolve(await dispatch());
        await exchange.ended; // Until its body has ended, too, it has a socket.
      } catch (thrown) {
        head.reject(thrown);
      }
    };
    void limited(() => (exchange.aborted ? over.promise : Promise.race([post(), over.promise]))).then(() => {
      clearTimeout(timer);
      underWay.delete(giveUp);
      signal?.removeEventListener('abort', onAbort);
    });
    return head.promise;
  }

  return {
    send,
    close() {
      for (const giveUp of underWay) giveUp(toTransportFailure(server, new Error('it was closed')));
    },
  };
}

const cancelled = (server: string) => new HeddleError('CALL_CANCELLED', `The message to ${server} was cancelled.`);
const late = (server: string, ms: number) =>
  new UpstreamError('UPSTREAM_TIMEOUT', `${server} did not take a message within ${ms} ms.`, { delivered: 'maybe' });
const stuck = (server: string) =>
  new UpstreamError('UPSTREAM_FAILED', `${server} does not take its messages: too many wait already.`, {
    delivered: 'no',
  });
