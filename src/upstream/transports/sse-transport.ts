import type { Dispatcher } from 'undici';
import { UpstreamError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import type { Message } from '../../wire/json-rpc.ts';
import type { SendOptions } from '../../wire/transport.ts';
import type { Credential } from '../auth/credential.ts';
import { authorize, isRefused, lowerCaseNames, mayResend, type RefusedRequest, sendTwice } from './authorization.ts';
import { MAX_MESSAGE_BYTES, quoted } from './bad-message.ts';
import { HttpExchange, type ResponseHead } from './http-exchange.ts';
import { SESSION_LOST, toRefusal, toSessionGone, toTransportFailure } from './http-failure.ts';
import { type HttpRequest, type HttpSender, httpSender, toHttpAddress } from './http-sender.ts';
import { RemoteTransport } from './remote-transport.ts';

type Headers = Readonly<Record<string, string>>;

export interface SseTransportOptions {
  readonly server: string;
  readonly url: URL;
  readonly dispatcher: Dispatcher;
  readonly headers?: Headers;
  /** Authorizes the stream and every message. Its headers win over `headers`. */
  readonly credential?: Credential | undefined;
  /** Ends the wait for the `endpoint` event. */
  readonly signal: AbortSignal;
  readonly maxMessageBytes?: number | undefined;
  readonly endpointMs?: number | undefined;
  /** Longest wait for the server to accept a message without a response; 15 s by default. */
  readonly acceptMs?: number | undefined;
}

interface SseRequest extends Pick<HttpRequest, 'method' | 'body' | 'headers'> {
  readonly url: URL;
}

type Refused = Pick<RefusedRequest, 'head' | 'url' | 'isRetry' | 'rpcMethod'>;

const MIB = 1024 * 1024;
const JSON_BODY = { 'content-type': 'application/json' };
const EVENT_STREAM = { accept: 'text/event-stream' };
const ENDPOINT_MS = 15_000;
const OTHER_TRANSPORT = 'If it speaks Streamable HTTP, set its `type` to "http".';

/** HTTP+SSE of 2024-11-05: one event stream brings all messages and names the URL that messages are posted to. */
export class SseClientTransport extends RemoteTransport {
  readonly #options: SseTransportOptions;
  #stream: HttpExchange;
  readonly #closing = new AbortController();
  /** The requests whose POST has not ended yet. */
  readonly #open = new Map<number, HttpExchange>();
  readonly #sender: HttpSender;
  #endpoint: URL | undefined;

  constructor(options: SseTransportOptions) {
    super(options.server);
    this.#options = { ...options, headers: lowerCaseNames(options.headers) };
    // The stream shows a lost server, but a half-open connection can stay silent for long.
    this.#sender = httpSender({ ...options, onFailureStreak: (reason) => this.closeWith(reason) });
    this.#stream = this.#newStream();
  }

  #newStream(): HttpExchange {
    const { server, maxMessageBytes = MAX_MESSAGE_BYTES } = this.#options;
    return new HttpExchange({
      server,
      maxMessageBytes,
      onUnreadable: (id, error) => this.onlost?.(id, error),
      onMessage: (message) => this.#receive(message),
      onEvent: (event, data) => {
        if (event === 'endpoint' && !this.#endpoint) this.#setEndpoint(data);
      },
    });
  }

  /** Settles when the server has sent its `endpoint` event. */
  async start(): Promise<void> {
    const { server, signal, endpointMs = ENDPOINT_MS } = this.#options;
    const timer = setTimeout(() => this.fail(noEndpoint(server, endpointMs)), endpointMs);
    const listen = () => void this.#listen().catch((error) => this.fail(error));
    await this.untilOpen(signal, listen).finally(() => clearTimeout(timer));
  }

  /** Settles when the server has accepted the message. */
  async send(message: Message, { signal }: SendOptions = {}): Promise<void> {
    const url = this.#endpoint;
    if (!url || this.isClosed) throw toTransportFailure(this.server, new Error('the connection is closed'));
    const id = message.method === undefined ? undefined : (message.id as number | undefined);
    const body = JSON.stringify(message);
    const head = await sendTwice(async (isRetry) => {
      const exchange = this.#post(id);
      const dispatch = () => this.#send(exchange, { method: 'POST', url, body, headers: JSON_BODY });
      const got = await (id === undefined ? this.#sender.sendUnanswered({ exchange, dispatch, signal }) : dispatch());
      const refused = { head: got, url, isRetry, rpcMethod: message.method as string | undefined };
      return { got, resend: isRefused(got) && (await this.#mayResend(exchange, refused)) };
    });
    this.#sender.succeeded();
    if (!head.ok) throw this.#refused(head, url);
  }

  abandon(id: number): void {
    this.#open.get(id)?.abort();
  }

  protected release(): void {
    this.#closing.abort();
    this.#stream.abort();
    this.#sender.close();
  }

  #post(requestId: number | undefined): HttpExchange {
    const post: HttpExchange = new HttpExchange({
      server: this.server,
      maxMessageBytes: MIB,
      onMessage: () => {},
      onEnd: () => {
        this.#sender.ended(post);
        if (requestId !== undefined) this.#open.delete(requestId);
      },
    });
    if (requestId !== undefined) this.#open.set(requestId, post);
    return post;
  }

  #receive(message: unknown): void {
    // Some servers end a POST only after its response, and some never do.
    for (const one of Array.isArray(message) ? message : [message]) {
      const post = isObject(one) && !one.method ? this.#open.get(one.id as number) : undefined;
      if (post) this.#sender.answered(post);
    }
    this.onmessage?.(message as Message);
  }

  async #listen(): Promise<void> {
    const { server, url } = this.#options;
    const head = await sendTwice(async (isRetry) => {
      if (isRetry) this.#stream = this.#newStream();
      const got = await this.#send(this.#stream, { method: 'GET', url, headers: EVENT_STREAM });
      return { got, resend: isRefused(got) && (await this.#mayResend(this.#stream, { head: got, url, isRetry })) };
    });
    if (!head.ok) throw withAdvice(toRefusal(server, head, url));
    if (!this.#stream.isEventStream) {
      await this.#stream.ended;
      throw noEventStream(server, this.#stream);
    }
    const error = await this.#stream.ended;
    const reason = error ? `Its stream broke: ${error.message}.` : 'It ended its stream.';
    this.fail(toTransportFailure(server, error ?? new Error('it ended its stream')), reason);
  }

  #setEndpoint(data: string): void {
    const { server, url } = this.#options;
    const endpoint = URL.canParse(data, url.href) ? new URL(data, url) : undefined;
    // Another origin would receive the headers of this server.
    if (endpoint?.origin === url.origin) {
      this.#endpoint = endpoint;
      this.open();
      return;
    }
    const message = `${server} wants its messages sent to ${endpoint?.origin ?? 'no address at all'}, which is not its own origin.`;
    this.fail(new UpstreamError('UPSTREAM_FAILED', message, { delivered: 'no', details: { server } }));
  }

  #refused(head: ResponseHead, url: URL): UpstreamError {
    if (head.status !== 404 && head.status !== 410) return toRefusal(this.server, head, url);
    setImmediate(() => this.closeWith(SESSION_LOST));
    return toSessionGone(this.server, head.status);
  }

  async #send(exchange: HttpExchange, { method, url, body, headers }: SseRequest): Promise<ResponseHead> {
    const { credential, headers: written } = this.#options;
    const authorized = await authorize(credential, { method, url, signal: this.#closing.signal });
    if (authorized) exchange.authorized = authorized;
    const version = this.protocolVersion && { 'mcp-protocol-version': this.protocolVersion };
    const all = { ...written, ...authorized, ...version, ...headers };
    if (this.isClosed) throw toTransportFailure(this.server, new Error('the connection is closed'));
    return this.#sender.send(exchange, { method, address: toHttpAddress(url), headers: all, body });
  }

  #mayResend({ authorized: sent }: HttpExchange, refused: Refused): Promise<boolean> {
    const { server, credential } = this.#options;
    return mayResend(credential, { ...refused, server, sent, signal: this.#closing.signal });
  }
}

/** Marks the refusal of a server that does not speak HTTP+SSE. */
function withAdvice(refusal: UpstreamError): UpstreamError {
  const { message, delivered } = refusal;
  if (![400, 404, 405, 406, 410, 415].includes(Number(refusal.details.status))) return refusal;
  const details = { ...refusal.details, speaksOther: true };
  return new UpstreamError('UPSTREAM_FAILED', message, { delivered, details, cause: refusal, fix: OTHER_TRANSPORT });
}

function noEventStream(server: string, { page, start }: HttpExchange): UpstreamError {
  const answer =
    page ?? `HTTP ${start?.status} (${quoted(String(start?.headers['content-type'] ?? 'no content type'))})`;
  const message = `${server} answered with ${answer}, not with an event stream.`;
  const details = { server, answer: `${answer}, no event stream`, speaksOther: true };
  return new UpstreamError('UPSTREAM_FAILED', message, { delivered: 'no', details, fix: OTHER_TRANSPORT });
}

const noEndpoint = (server: string, ms: number) =>
  new UpstreamError('UPSTREAM_TIMEOUT', `${server} sent no \`endpoint\` event within ${ms} ms.`, {
    delivered: 'no',
    details: { server, answer: `no \`endpoint\` event within ${ms} ms`, speaksOther: true },
  });
