import type { Dispatcher } from 'undici';
import type { JsonObject } from '../../core/call.ts';
import { UpstreamError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import type { Message, SendOptions, Transport } from '../../wire/json-rpc.ts';
import { answeredStreams } from './answered-streams.ts';
import { MAX_MESSAGE_BYTES } from './bad-message.ts';
import { failureStreak } from './failure-streak.ts';
import { HttpExchange, type Purpose, type ResponseHead, type Sending } from './http-exchange.ts';
import {
  answerIn,
  toNoResponse,
  toRefusal,
  toSessionGone,
  toTransportFailure,
  waitBeforeRetry,
} from './http-failure.ts';
import { keepGetStream } from './http-get-stream.ts';
import { headersOfBody } from './http-headers.ts';
import { requestWaits } from './request-waits.ts';
import { type UnansweredPosts, unansweredPosts } from './unanswered-posts.ts';

type Headers = Record<string, string>;

export interface HttpTransportOptions {
  readonly server: string;
  readonly url: URL;
  /** Shared by all lines. Give it `headersTimeout: 0, bodyTimeout: 0`: deadlines are the wire's. */
  readonly dispatcher: Dispatcher;
  readonly headers?: Readonly<Headers>;
  /** Asked before every exchange, so that a refreshed token is used at once. */
  readonly authorize?: () => Promise<Readonly<Headers>>;
  readonly maxMessageBytes?: number | undefined;
  /** How long it waits at least before it opens a stream again. */
  readonly retryMs?: number;
  /** How long the server may take to accept a message that it does not answer. */
  readonly tellMs?: number | undefined;
}

const RETRY_MS = 1000;
const MAX_RESUMES = 3;
const GOODBYE_MS = 2000;
const FORGOTTEN_MS = 1000;
const FORGOTTEN = 'It no longer knew the session.';
const SESSION_NOT_FOUND = -32001;

/** Streamable HTTP in both eras, one POST per message; for legacy servers also the GET stream and resumption. */
export class HttpClientTransport implements Transport {
  readonly hasPerRequestStream = true;
  onmessage: Transport['onmessage'];
  onclose: Transport['onclose'];
  onerror: Transport['onerror'];
  onlost: Transport['onlost'];
  sessionId?: string | undefined;
  readonly #options: HttpTransportOptions;
  readonly #path: string;
  readonly #open = new Map<number, HttpExchange>();
  /** All that has a socket. */
  readonly #sent = new Set<HttpExchange>();
  readonly #answered = answeredStreams();
  readonly #posts: UnansweredPosts;
  readonly #closing = new AbortController();
  #version: string | undefined;
  readonly #waits = requestWaits();
  readonly #failures = failureStreak((reason) => this.#end(reason));
  #forgotten = false;
  #ending = '';

  constructor(options: HttpTransportOptions) {
    this.#options = options;
    this.#path = options.url.pathname + options.url.search;
    this.#posts = unansweredPosts(options.server, options.tellMs);
  }

  async start(): Promise<void> {}

  /** Legacy only: a modern message names its version itself. */
  setProtocolVersion(version: string): void {
    this.#version = version;
  }

  /** Why the line closed by itself; empty when it did not. */
  ending(): string {
    return this.#ending;
  }

  /** Settles when the server has accepted the message; the answer comes by `onmessage`. */
  send(message: Message, options: SendOptions = {}): Promise<void> {
    const { id, method = '', params } = message as { id?: number; method?: string; params?: JsonObject };
    if (this.#forgotten) return Promise.reject(toSessionGone(this.#options.server, 404));
    const sending: Sending = {
      method: 'POST',
      body: JSON.stringify(message),
      headers: { ...headersOfBody(method, params), ...options.headers, 'content-type': 'application/json' },
    };
    if (id === undefined || method === '') return this.#tell(sending, method, options.signal);
    return this.#ask(id, sending, { ...options, opensSession: method === 'initialize' });
  }

  async #tell(sending: Sending, method: string, signal: AbortSignal | undefined): Promise<void> {
    const exchange = this.#exchange(undefined);
    const head = await this.#posts.send({ exchange, dispatch: () => this.#dispatch(exchange, sending), signal });
    if (!head.ok) return this.#refused(head, undefined);
    this.#failures.end();
    if (method === 'notifications/initialized') void this.#listen();
  }

  // Every call comes this way: a chain costs it less than an async function.
  #ask(id: number, sending: Sending, options: SendOptions & Purpose): Promise<void> {
    const { deadlineMs = 0, repeatable = false, onRequestStreamEnd } = options;
    const deadlineAt = performance.now() + deadlineMs;
    const exchange = this.#exchange(id, options);
    const asked = this.#dispatch(exchange, sending).then((head) => {
      const waitMs = waitBeforeRetry(head, { deadlineAt, repeatable });
      if (waitMs === undefined)
        return head.ok ? this.#follow(exchange, id, onRequestStreamEnd) : this.#refused(head, id);
      return this.#waits.wait(id, waitMs).then(() => {
        if (!this.#open.has(id)) throw new Error('abandoned while it waited');
        return this.#ask(id, sending, { ...options, deadlineMs: 0 }); // Once.
      });
    });
    return asked.catch((error) => {
      this.#settle(id);
      throw error;
    });
  }

  abandon(id: number): void {
    this.#open.get(id)?.abort();
    this.#settle(id);
    this.#waits.end(id);
  }

  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort();
    for (const id of this.#open.keys()) this.abandon(id);
    this.#posts.close();
    for (const exchange of this.#sent) exchange.abort();
    if (this.sessionId) this.#sayGoodbye();
    this.onclose?.();
  }

  // A courtesy: nobody waits for the answer, and a server that gives none is left alone.
  #sayGoodbye(): void {
    const exchange = this.#exchange(undefined);
    const timer = setTimeout(() => exchange.abort(), GOODBYE_MS).unref();
    const done = () => clearTimeout(timer);
    this.#dispatch(exchange, { method: 'DELETE' }).then(done, done);
  }

  /** Registered before anything is awaited, so that a call abandoned meanwhile is never sent. */
  #exchange(asked: number | undefined, { opensSession, resumes }: Purpose = {}): HttpExchange {
    const exchange: HttpExchange = new HttpExchange({
      server: this.#options.server,
      maxMessageBytes: this.#options.maxMessageBytes ?? MAX_MESSAGE_BYTES,
      onUnreadable: (id, error) => {
        this.#settle(id);
        this.onlost?.(id, error);
      },
      onAccepted: (headers) => {
        if (opensSession) this.sessionId = headers['mcp-session-id'] as string | undefined;
      },
      onMessage: (message) => {
        this.#failures.end();
        for (const one of Array.isArray(message) ? message : [message]) {
          const answered = this.#answeredBy(one);
          if (answered === exchange && resumes) exchange.abort();
          else if (answered) this.#answered.add(answered);
        }
        this.onmessage?.(message as Message, { relatedRequestId: asked });
      },
      onEnd: () => {
        this.#sent.delete(exchange);
        this.#answered.delete(exchange);
      },
    });
    if (asked !== undefined) this.#open.set(asked, exchange);
    if (opensSession) this.sessionId = undefined;
    return exchange;
  }

  /** The request that a message settles. The answer may come on another stream than the one its request opened. */
  #answeredBy(message: unknown): HttpExchange | undefined {
    if (!isObject(message) || message.method || typeof message.id !== 'number') return undefined;
    const exchange = this.#open.get(message.id);
    if (exchange) this.#settle(message.id);
    return exchange;
  }

  #dispatch(exchange: HttpExchange, sending: Sending): Promise<ResponseHead> {
    const { authorize } = this.#options;
    return authorize
      ? authorize().then((shown) => this.#hand(exchange, sending, shown))
      : this.#hand(exchange, sending);
  }

  #hand(exchange: HttpExchange, { method, body, headers }: Sending, shown?: Readonly<Headers>): Promise<ResponseHead> {
    const { server, url, dispatcher } = this.#options;
    const all: Headers = { ...this.#options.headers, ...shown };
    all.accept = 'application/json, text/event-stream';
    if (this.sessionId) all['mcp-session-id'] = this.sessionId;
    if (this.#version) all['mcp-protocol-version'] = this.#version;
    Object.assign(all, headers);
    const { origin } = url;
    const isTooLate = this.#closing.signal.aborted && method !== 'DELETE';
    if (exchange.aborted || isTooLate) {
      return Promise.reject(toTransportFailure(server, new Error('abandoned before it was sent')));
    }
    // Said here again, because a pool behind a proxy does not pass on what its agent was told.
    const patient = { headersTimeout: 0, bodyTimeout: 0 };
    this.#sent.add(exchange);
    try {
      dispatcher.dispatch({ origin, path: this.#path, method, headers: all, body: body ?? null, ...patient }, exchange);
    } catch (error) {
      exchange.onResponseError(undefined, error as Error);
    }
    return exchange.head.catch((error) => {
      this.#failures.count(error);
      throw toTransportFailure(server, error);
    });
  }

  // Nearly always the answer has come when the exchange ends, and there is nothing to do.
  #follow(exchange: HttpExchange, id: number, unanswered: SendOptions['onRequestStreamEnd']): void {
    exchange.ended.then(() => {
      if (this.#open.has(id)) void this.#goOn(exchange, id, unanswered);
    });
  }

  /** Waits until the request is answered, resuming a legacy stream that broke; else says that no answer will come. */
  async #goOn(first: HttpExchange, id: number, unanswered: SendOptions['onRequestStreamEnd']): Promise<void> {
    let exchange = first;
    let error: Error | undefined;
    for (let resumes = 0; ; resumes++) {
      error = await exchange.ended;
      if (!this.#open.has(id)) return;
      if (error) {
        this.#failures.count(error);
        this.onerror?.(error);
      }
      const { lastEventId, retryMs = this.#options.retryMs ?? RETRY_MS } = exchange;
      // Modern lines have no version of their own, and no resumption. What was too large would be so again.
      if (!this.#version || error instanceof UpstreamError || lastEventId === undefined || resumes === MAX_RESUMES)
        break;
      await this.#waits.wait(id, retryMs);
      if (!this.#open.has(id)) return;
      const next = this.#exchange(id, { resumes: true });
      if (!(await this.#resume(next, lastEventId))?.ok) break;
      exchange = next;
    }
    this.#settle(id);
    unanswered?.(toNoResponse(this.#options.server, id, exchange, error));
  }

  #resume(exchange: HttpExchange, lastEventId: string | undefined): Promise<ResponseHead | undefined> {
    const headers = lastEventId === undefined ? undefined : { 'last-event-id': lastEventId };
    return this.#dispatch(exchange, { method: 'GET', headers }).catch((error) => {
      this.onerror?.(error);
      return undefined;
    });
  }

  #listen(): Promise<void> {
    const open = async (lastEventId: string | undefined) => {
      const stream = this.#exchange(undefined);
      return { stream, head: await this.#resume(stream, lastEventId) };
    };
    return keepGetStream({ open, retryMs: this.#options.retryMs ?? RETRY_MS, signal: this.#closing.signal });
  }

  #refused(head: ResponseHead, asked: number | undefined): void {
    const { server, url } = this.#options;
    this.#failures.end();
    if (asked !== undefined) this.#settle(asked);
    const answer = asked === undefined ? undefined : answerIn(head, asked);
    const isGone = !answer || (isObject(answer.error) && answer.error.code === SESSION_NOT_FOUND);
    if (head.status === 404 && (this.sessionId || this.#forgotten) && isGone) {
      this.#loseSession();
      throw toSessionGone(server, head.status);
    }
    if (!answer) throw toRefusal(server, head, url);
    this.onmessage?.(answer, { relatedRequestId: asked });
  }

  #settle(id: number): void {
    this.#open.delete(id);
    if (this.#forgotten && this.#open.size === 0) setImmediate(() => this.#end(FORGOTTEN));
  }

  // A session begins with a handshake: on a new line. Calls under way get a moment to hear the same for themselves.
  #loseSession(): void {
    if (this.#forgotten) return;
    this.#forgotten = true;
    this.sessionId = undefined;
    setTimeout(() => this.#end(FORGOTTEN), this.#open.size === 0 ? 0 : FORGOTTEN_MS);
  }

  #end(reason: string): void {
    this.#ending ||= reason;
    void this.close();
  }
}
