import type { Dispatcher } from 'undici';
import { HeddleError, UpstreamError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import type { Message, SendOptions, Transport } from '../../wire/json-rpc.ts';
import { answeredStreams } from './answered-streams.ts';
import { MAX_MESSAGE_BYTES } from './bad-message.ts';
import { failureStreak } from './failure-streak.ts';
import { HttpExchange, type ResponseHead } from './http-exchange.ts';
import { toRefusal, toSessionGone, toTransportFailure } from './http-failure.ts';
import { type UnansweredPosts, unansweredPosts } from './unanswered-posts.ts';

type Headers = Readonly<Record<string, string>>;

export interface SseTransportOptions {
  readonly server: string;
  readonly url: URL;
  readonly dispatcher: Dispatcher;
  readonly headers?: Headers;
  /** Ends the wait for the server's first word. */
  readonly signal: AbortSignal;
  readonly maxMessageBytes?: number | undefined;
  readonly endpointMs?: number | undefined;
  /** How long the server may take to accept a message that it does not answer. */
  readonly tellMs?: number | undefined;
}

const MIB = 1024 * 1024;
const ENDPOINT_MS = 15_000;
const OTHER_TRANSPORT = 'If it speaks Streamable HTTP, set its `type` to "http".';

/** HTTP+SSE of 2024-11-05: one stream brings everything, and messages are posted where that stream says. */
export class SseClientTransport implements Transport {
  onmessage: Transport['onmessage'];
  onclose: Transport['onclose'];
  onerror: Transport['onerror'];
  onlost: Transport['onlost'];
  readonly #options: SseTransportOptions;
  readonly #stream: HttpExchange;
  readonly #ready = Promise.withResolvers<void>();
  readonly #posts = new Set<HttpExchange>();
  /** The requests whose POST has not ended yet. */
  readonly #open = new Map<number, HttpExchange>();
  readonly #answered = answeredStreams();
  readonly #unanswered: UnansweredPosts;
  #endpoint: URL | undefined;
  #version: string | undefined;
  // The stream tells of a lost server, but a half-open one can stay silent for long.
  readonly #failures = failureStreak((reason) => this.#end(reason));
  #closed = false;
  #ending = '';

  constructor(options: SseTransportOptions) {
    this.#options = options;
    this.#unanswered = unansweredPosts(options.server, options.tellMs);
    this.#stream = new HttpExchange({
      server: options.server,
      maxMessageBytes: options.maxMessageBytes ?? MAX_MESSAGE_BYTES,
      onUnreadable: (id, error) => this.onlost?.(id, error),
      onMessage: (message) => this.#hear(message),
      onEvent: (event, data) => {
        if (event === 'endpoint' && !this.#endpoint) this.#settleOn(data);
      },
    });
    this.#ready.promise.catch(() => {});
  }

  /** Settles when the server has said where it takes messages. */
  async start(): Promise<void> {
    const { server, signal, endpointMs = ENDPOINT_MS } = this.#options;
    const giveUp = () => this.#fail(new HeddleError('CALL_CANCELLED', `Connecting to ${server} was cancelled.`));
    const timer = setTimeout(() => this.#fail(silent(server, endpointMs)), endpointMs);
    signal.addEventListener('abort', giveUp, { once: true });
    try {
      if (signal.aborted) giveUp();
      else this.#listen().catch((error) => this.#fail(error));
      await this.#ready.promise;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', giveUp);
    }
  }

  setProtocolVersion(version: string): void {
    this.#version = version;
  }

  /** Why the line closed by itself; empty when it did not. */
  ending(): string {
    return this.#ending;
  }

  /** Settles when the server has accepted the message. */
  async send(message: Message, { signal }: SendOptions = {}): Promise<void> {
    const { server } = this.#options;
    const url = this.#endpoint;
    if (!url || this.#closed) throw toTransportFailure(server, new Error('the line is closed'));
    const id = message.method === undefined ? undefined : (message.id as number | undefined);
    const exchange = this.#post(id);
    const headers = { 'content-type': 'application/json' };
    const sending: Sending = { url, method: 'POST', body: JSON.stringify(message), headers };
    const dispatch = () => this.#dispatch(exchange, sending);
    const head = await (id === undefined ? this.#unanswered.send({ exchange, dispatch, signal }) : dispatch());
    this.#failures.end();
    if (!head.ok) throw this.#refused(head, url);
  }

  abandon(id: number): void {
    this.#open.get(id)?.abort();
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#stream.abort();
    this.#unanswered.close();
    for (const post of this.#posts) post.abort();
    this.#ready.reject(toTransportFailure(this.#options.server, new Error('closed')));
    this.onclose?.();
  }

  #post(asks: number | undefined): HttpExchange {
    const post: HttpExchange = new HttpExchange({
      server: this.#options.server,
      maxMessageBytes: MIB,
      onMessage: () => {},
      onEnd: () => {
        this.#posts.delete(post);
        this.#answered.delete(post);
        if (asks !== undefined) this.#open.delete(asks);
      },
    });
    if (asks !== undefined) this.#open.set(asks, post);
    return post;
  }

  #hear(message: unknown): void {
    // Some servers end a POST only after its answer, and some never do.
    for (const one of Array.isArray(message) ? message : [message]) {
      const post = isObject(one) && !one.method ? this.#open.get(one.id as number) : undefined;
      if (post) this.#answered.add(post);
    }
    this.onmessage?.(message as Message);
  }

  async #listen(): Promise<void> {
    const { server, url } = this.#options;
    const head = await this.#dispatch(this.#stream, { url, method: 'GET', headers: { accept: 'text/event-stream' } });
    if (!head.ok) throw withAdvice(toRefusal(server, head, url));
    if (!this.#stream.isEventStream) {
      const message = `${server} did not answer with an event stream.`;
      throw new UpstreamError('UPSTREAM_FAILED', message, { delivered: 'no', fix: OTHER_TRANSPORT });
    }
    const error = await this.#stream.ended;
    if (!this.#closed) this.#end(error ? `Its stream broke: ${error.message}.` : 'It ended its stream.', error);
  }

  #settleOn(data: string): void {
    const { server, url } = this.#options;
    const endpoint = URL.canParse(data, url.href) ? new URL(data, url) : undefined;
    // Elsewhere the headers of this server would be given to another.
    if (endpoint?.origin === url.origin) {
      this.#endpoint = endpoint;
      this.#ready.resolve();
      return;
    }
    const message = `${server} wants its messages sent to ${endpoint?.origin ?? 'no address at all'}, which is not where it is.`;
    this.#fail(new UpstreamError('UPSTREAM_FAILED', message, { delivered: 'no', details: { server } }));
  }

  #fail(error: Error): void {
    this.#ready.reject(error);
    this.#end(error.message, error);
  }

  #end(reason: string, error?: Error): void {
    this.#ending ||= reason;
    if (error && !this.#closed) this.onerror?.(error);
    void this.close();
  }

  #refused(head: ResponseHead, url: URL): UpstreamError {
    const { server } = this.#options;
    if (head.status !== 404 && head.status !== 410) return toRefusal(server, head, url);
    setImmediate(() => this.#end('It no longer knew the session.'));
    return toSessionGone(server, head.status);
  }

  #dispatch(exchange: HttpExchange, { url, method, body, headers }: Sending): Promise<ResponseHead> {
    const { server, dispatcher } = this.#options;
    const version = this.#version && { 'mcp-protocol-version': this.#version };
    const all = { ...this.#options.headers, ...version, ...headers };
    const [origin, path, patient] = [url.origin, url.pathname + url.search, { headersTimeout: 0, bodyTimeout: 0 }];
    if (method === 'POST') this.#posts.add(exchange);
    dispatcher.dispatch({ origin, path, method, headers: all, body: body ?? null, ...patient }, exchange);
    return exchange.head.catch((error) => {
      this.#failures.count(error);
      throw toTransportFailure(server, error);
    });
  }
}

interface Sending {
  readonly url: URL;
  readonly method: 'GET' | 'POST';
  readonly body?: string;
  readonly headers: Headers;
}

function withAdvice(refusal: UpstreamError): UpstreamError {
  const { message, details, delivered } = refusal;
  const wrongDoor = [400, 404, 405, 406, 415].includes(Number(details.status));
  return wrongDoor
    ? new UpstreamError('UPSTREAM_FAILED', message, { delivered, details, cause: refusal, fix: OTHER_TRANSPORT })
    : refusal;
}

const silent = (server: string, ms: number) =>
  new UpstreamError('UPSTREAM_TIMEOUT', `${server} did not say within ${ms} ms where it takes messages.`, {
    delivered: 'no',
  });
