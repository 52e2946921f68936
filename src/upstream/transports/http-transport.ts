import type { Dispatcher } from 'undici';
import type { JsonObject } from '../../core/call.ts';
import { UpstreamError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import type { Message } from '../../wire/json-rpc.ts';
import { SESSION_NOT_FOUND } from '../../wire/mcp.ts';
import type { SendOptions } from '../../wire/transport.ts';
import type { Credential } from '../auth/credential.ts';
import { authorize, isRefused, lowerCaseNames, mayResend, type RefusedRequest, sendTwice } from './authorization.ts';
import { MAX_MESSAGE_BYTES } from './bad-message.ts';
import { HttpExchange, type Purpose, type ResponseHead, type Sending } from './http-exchange.ts';
import {
  errorResponseIn,
  SESSION_LOST,
  toNoResponse,
  toRefusal,
  toSessionGone,
  toTransportFailure,
  waitBeforeRetry,
} from './http-failure.ts';
import { keepGetStream, type OpenedStream, RETRY_MS } from './http-get-stream.ts';
import { headersOfBody } from './http-headers.ts';
import { type HttpAddress, type HttpSender, httpSender, toHttpAddress } from './http-sender.ts';
import { RemoteTransport } from './remote-transport.ts';
import { requestWaits } from './request-waits.ts';

type Headers = Record<string, string>;

export interface HttpTransportOptions {
  readonly server: string;
  readonly url: URL;
  /** Shared by all transports. It needs `headersTimeout: 0, bodyTimeout: 0`: the peer has the deadlines. */
  readonly dispatcher: Dispatcher;
  readonly headers?: Readonly<Headers>;
  /** Authorizes every request. Its headers win over `headers`. */
  readonly credential?: Credential | undefined;
  readonly maxMessageBytes?: number | undefined;
  /** Shortest delay before a stream is opened again. */
  readonly retryMs?: number;
  /** Longest wait for the server to accept a message without a response; 15 s by default. */
  readonly acceptMs?: number | undefined;
}

type Refused = Pick<RefusedRequest, 'head' | 'isRetry' | 'rpcMethod'>;

const MAX_RESUMES = 3;
const DELETE_MS = 2000;
const SESSION_LOST_MS = 1000;

/** Streamable HTTP in both eras, one POST per message; for legacy servers also the GET stream and resumption. */
export class HttpClientTransport extends RemoteTransport {
  readonly hasPerRequestStream = true;
  sessionId?: string | undefined;
  /** True once the server has answered a request with a 2xx status. */
  hasAccepted = false;
  /** Called when the GET stream of the session gets 404 and no request is in flight: a request shows if it is lost. */
  onStreamNotFound: () => void = () => {};
  readonly #options: HttpTransportOptions;
  readonly #open = new Map<number, HttpExchange>();
  readonly #address: HttpAddress;
  readonly #sender: HttpSender;
  readonly #closing = new AbortController();
  readonly #waits = requestWaits();
  #isSessionLost = false;

  constructor(options: HttpTransportOptions) {
    super(options.server);
    this.#options = { ...options, headers: lowerCaseNames(options.headers) };
    this.#address = toHttpAddress(options.url);
    this.#sender = httpSender({ ...options, onFailureStreak: (reason) => this.closeWith(reason) });
  }

  async start(): Promise<void> {}

  /** Settles when the server has accepted the message. The response arrives by `onmessage`. */
  send(message: Message, options: SendOptions = {}): Promise<void> {
    const { id, method = '', params } = message as { id?: number; method?: string; params?: JsonObject };
    if (this.#isSessionLost) return Promise.reject(toSessionGone(this.#options.server, 404));
    const headers = { ...headersOfBody(method, params), ...options.headers, 'content-type': 'application/json' };
    const sending: Sending = { method: 'POST', body: JSON.stringify(message), headers, rpcMethod: method };
    if (id === undefined || method === '') return this.#sendUnanswered(sending, method, options.signal);
    return this.#request(id, sending, { ...options, opensSession: method === 'initialize' });
  }

  async #sendUnanswered(sending: Sending, rpcMethod: string, signal: AbortSignal | undefined): Promise<void> {
    const head = await sendTwice(async (isRetry) => {
      const exchange = this.#exchange(undefined);
      const dispatch = () => this.#dispatch(exchange, sending);
      const got = await this.#sender.sendUnanswered({ exchange, dispatch, signal });
      return { got, resend: isRefused(got) && (await this.#mayResend(exchange, { head: got, isRetry, rpcMethod })) };
    });
    if (!head.ok) return this.#refused(head, undefined);
    this.#sender.succeeded();
    if (rpcMethod === 'notifications/initialized') void this.#listen();
  }

  // Hot path: a promise chain costs less than an async function.
  #request(id: number, sending: Sending, options: SendOptions & Purpose, isRetry = false): Promise<void> {
    const { deadlineMs = 0, repeatable = false, onRequestStreamEnd } = options;
    const deadlineAt = performance.now() + deadlineMs;
    const exchange = this.#exchange(id, options);
    const sent = this.#dispatch(exchange, sending).then((head) => {
      if (head.ok) return this.#follow(exchange, id, onRequestStreamEnd);
      if (isRefused(head)) {
        const resend = () => this.#request(id, sending, { ...options, deadlineMs: 0 }, true);
        const refused = this.#mayResend(exchange, { head, isRetry, rpcMethod: sending.rpcMethod });
        return refused.then((may) => (may ? resend() : this.#refused(head, id)));
      }
      const waitMs = waitBeforeRetry(head, { deadlineAt, repeatable });
      if (waitMs === undefined) return this.#refused(head, id);
      return this.#waits.wait(id, waitMs).then(() => {
        if (!this.#open.has(id)) throw new Error('abandoned while it waited');
        return this.#request(id, sending, { ...options, deadlineMs: 0 }); // Retries once.
      });
    });
    return sent.catch((error) => {
      this.#settle(id);
      throw error;
    });
  }

  async #mayResend(exchange: HttpExchange, refused: Refused): Promise<boolean> {
    const { server, url, credential } = this.#options;
    const request = { server, url, sent: exchange.authorized, signal: this.#closing.signal };
    const may = await mayResend(credential, { ...refused, ...request });
    if (may && exchange.aborted) throw toTransportFailure(server, new Error('abandoned before it was sent again'));
    return may;
  }

  abandon(id: number): void {
    this.#open.get(id)?.abort();
    this.#settle(id);
    this.#waits.end(id);
  }

  protected release(): void {
    this.#closing.abort();
    for (const id of this.#open.keys()) this.abandon(id);
    this.#sender.close();
    if (this.sessionId) this.#deleteSession();
  }

  // close() does not wait for the response. The DELETE is aborted after 2 s.
  #deleteSession(): void {
    const exchange = this.#exchange(undefined);
    const timer = setTimeout(() => exchange.abort(), DELETE_MS).unref();
    const done = () => clearTimeout(timer);
    this.#dispatch(exchange, { method: 'DELETE' }).then(done, done);
  }

  /** Registers the exchange before anything is awaited, so that a call abandoned meanwhile is never sent. */
  #exchange(requestId: number | undefined, { opensSession, resumes }: Purpose = {}): HttpExchange {
    const exchange: HttpExchange = new HttpExchange({
      server: this.#options.server,
      maxMessageBytes: this.#options.maxMessageBytes ?? MAX_MESSAGE_BYTES,
      onUnreadable: (id, error) => {
        this.#settle(id);
        this.onlost?.(id, error);
      },
      onAccepted: (headers) => {
        this.hasAccepted = true;
        if (opensSession) this.sessionId = headers['mcp-session-id'] as string | undefined;
        this.#options.credential?.onAccepted?.(headers, this.#options.url);
      },
      onMessage: (message) => {
        this.#sender.succeeded();
        for (const one of Array.isArray(message) ? message : [message]) {
          const answered = this.#answeredBy(one);
          if (answered === exchange && resumes) exchange.abort();
          else if (answered) this.#sender.answered(answered);
        }
        this.onmessage?.(message as Message, { relatedRequestId: requestId });
      },
      onEnd: () => this.#sender.ended(exchange),
    });
    if (requestId !== undefined) this.#open.set(requestId, exchange);
    if (opensSession) this.sessionId = undefined;
    return exchange;
  }

  /** Settles the request that a message answers and returns its exchange. A response may arrive on another stream. */
  #answeredBy(message: unknown): HttpExchange | undefined {
    if (!isObject(message) || message.method || typeof message.id !== 'number') return undefined;
    const exchange = this.#open.get(message.id);
    if (exchange) this.#settle(message.id);
    return exchange;
  }

  #dispatch(exchange: HttpExchange, sending: Sending): Promise<ResponseHead> {
    const { credential, url } = this.#options;
    const authorized = authorize(credential, { method: sending.method, url, signal: this.#closing.signal });
    return authorized instanceof Promise
      ? authorized.then((headers) => this.#hand(exchange, sending, headers))
      : this.#hand(exchange, sending, authorized);
  }

  #hand(exchange: HttpExchange, sending: Sending, authorized?: Readonly<Headers>): Promise<ResponseHead> {
    const { method, body, headers } = sending;
    if (authorized) exchange.authorized = authorized;
    const all: Headers = { ...this.#options.headers, ...authorized };
    all.accept = 'application/json, text/event-stream';
    if (this.sessionId) all['mcp-session-id'] = this.sessionId;
    if (this.protocolVersion) all['mcp-protocol-version'] = this.protocolVersion;
    Object.assign(all, headers);
    if (exchange.aborted || (this.isClosed && method !== 'DELETE')) {
      return Promise.reject(toTransportFailure(this.server, new Error('abandoned before it was sent')));
    }
    return this.#sender.send(exchange, { method, address: this.#address, headers: all, body });
  }

  // Nearly always the response has arrived when the exchange ends.
  #follow(exchange: HttpExchange, id: number, onStreamEnd: SendOptions['onRequestStreamEnd']): void {
    exchange.ended.then(() => {
      if (this.#open.has(id)) void this.#resumeUntilAnswered(exchange, id, onStreamEnd);
    });
  }

  /** Waits for the response and resumes a broken legacy stream up to 3 times. Then reports that none will come. */
  async #resumeUntilAnswered(
    first: HttpExchange,
    id: number,
    onStreamEnd: SendOptions['onRequestStreamEnd'],
  ): Promise<void> {
    let exchange = first;
    let error: Error | undefined;
    for (let resumes = 0; ; resumes++) {
      error = await exchange.ended;
      if (!this.#open.has(id)) return;
      if (error) {
        this.#sender.countFailure(error);
        this.onerror?.(error);
      }
      const { lastEventId, retryMs = this.#options.retryMs ?? RETRY_MS } = exchange;
      // Modern streams cannot be resumed, and a message over the size limit would be too large again.
      if (
        !this.protocolVersion ||
        error instanceof UpstreamError ||
        lastEventId === undefined ||
        resumes === MAX_RESUMES
      )
        break;
      await this.#waits.wait(id, retryMs);
      if (!this.#open.has(id)) return;
      const { stream, head } = await this.#openStream(() => this.#exchange(id, { resumes: true }), lastEventId);
      if (!head?.ok) break;
      exchange = stream;
    }
    this.#settle(id);
    onStreamEnd?.(toNoResponse(this.#options.server, id, exchange, error));
  }

  #openStream(make: () => HttpExchange, lastEventId: string | undefined): Promise<OpenedStream> {
    const headers = lastEventId === undefined ? undefined : { 'last-event-id': lastEventId };
    return sendTwice(async (isRetry) => {
      const stream = make();
      let head: ResponseHead | undefined;
      try {
        head = await this.#dispatch(stream, { method: 'GET', headers });
        const resend = isRefused(head) && (await this.#mayResend(stream, { head, isRetry }));
        return { got: { stream, head }, resend };
      } catch (error) {
        this.onerror?.(error as Error);
        return { got: { stream, head }, resend: false };
      }
    });
  }

  #listen(): Promise<void> {
    const open = (lastEventId: string | undefined) => this.#openStream(() => this.#exchange(undefined), lastEventId);
    const onNotFound = () => this.sessionId && this.#open.size === 0 && this.onStreamNotFound();
    return keepGetStream({ open, onNotFound, retryMs: this.#options.retryMs, signal: this.#closing.signal });
  }

  #refused(head: ResponseHead, requestId: number | undefined): void {
    const { server, url } = this.#options;
    this.#sender.succeeded();
    if (requestId !== undefined) this.#settle(requestId);
    const response = requestId === undefined ? undefined : errorResponseIn(head, requestId);
    const isGone = !response || (isObject(response.error) && response.error.code === SESSION_NOT_FOUND);
    if (head.status === 404 && (this.sessionId || this.#isSessionLost) && isGone) {
      this.#loseSession();
      throw toSessionGone(server, head.status);
    }
    if (!response) throw toRefusal(server, head, url);
    this.onmessage?.(response, { relatedRequestId: requestId });
  }

  #settle(id: number): void {
    this.#open.delete(id);
    if (this.#isSessionLost && this.#open.size === 0) setImmediate(() => this.closeWith(SESSION_LOST));
  }

  // A new session needs a new connection. Requests in flight get 1 s to receive their own 404.
  #loseSession(): void {
    if (this.#isSessionLost) return;
    this.#isSessionLost = true;
    this.sessionId = undefined;
    setTimeout(() => this.closeWith(SESSION_LOST), this.#open.size === 0 ? 0 : SESSION_LOST_MS);
  }
}
