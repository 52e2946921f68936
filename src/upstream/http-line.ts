import { setTimeout as wait } from 'node:timers/promises';
import type { Dispatcher } from 'undici';
import type { JsonObject } from '../core/call.ts';
import { isObject } from '../core/json.ts';
import type { Line, Message, SendOptions } from '../wire/json-rpc.ts';
import { Exchange, type Head } from './http-exchange.ts';
import { toLineFailure, toRefusal } from './http-failure.ts';
import { headersOfBody } from './http-headers.ts';

type Headers = Record<string, string>;

export interface HttpOptions {
  readonly server: string;
  readonly url: URL;
  /** Shared by all lines. Give it `headersTimeout: 0, bodyTimeout: 0`: deadlines are the wire's. */
  readonly dispatcher: Dispatcher;
  readonly headers?: Readonly<Headers>;
  /** Asked before every exchange, so that a refreshed token is used at once. */
  readonly authorize?: () => Promise<Readonly<Headers>>;
  readonly maxMessageBytes?: number;
  readonly retryMs?: number;
}

interface Sending {
  readonly method: 'POST' | 'GET' | 'DELETE';
  readonly body?: string;
  readonly headers?: Readonly<Headers> | undefined;
}

const MIB = 1024 * 1024;
const MAX_RETRY_MS = 30_000;
const MAX_RESUMES = 3;
const GOODBYE_MS = 2000;

/** Streamable HTTP in both eras, one POST per message; for legacy servers also the GET stream and resumption. */
export class HttpLine implements Line {
  readonly hasPerRequestStream = true;
  onmessage: Line['onmessage'];
  onclose: Line['onclose'];
  onerror: Line['onerror'];
  sessionId?: string | undefined;
  readonly #options: HttpOptions;
  readonly #path: string;
  readonly #open = new Map<number, Exchange>();
  readonly #closing = new AbortController();
  #listener: Exchange | undefined;
  #version: string | undefined;

  constructor(options: HttpOptions) {
    this.#options = options;
    this.#path = options.url.pathname + options.url.search;
  }

  async start(): Promise<void> {}

  /** Legacy only: a modern message names its version itself. */
  setProtocolVersion(version: string): void {
    this.#version = version;
  }

  /** Settles when the server has accepted the message; the answer comes by `onmessage`. */
  async send(message: Message, options?: SendOptions): Promise<void> {
    const { id, method, params } = message as { id?: number; method?: string; params?: JsonObject };
    const asked = method === undefined ? undefined : id;
    const exchange = this.#exchange(asked, method === 'initialize');
    const head = await this.#dispatch(exchange, {
      method: 'POST',
      body: JSON.stringify(message),
      headers: { ...headersOfBody(method ?? '', params), 'content-type': 'application/json' },
    });
    if (!head.ok) return this.#refused(head, asked);
    if (asked !== undefined) void this.#follow(exchange, asked, options?.onRequestStreamEnd);
    if (method === 'notifications/initialized') void this.#listen();
  }

  abandon(id: number): void {
    this.#open.get(id)?.abort();
    this.#open.delete(id);
  }

  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort();
    for (const id of this.#open.keys()) this.abandon(id);
    this.#listener?.abort();
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
  #exchange(asked: number | undefined, opensSession = false): Exchange {
    const exchange = new Exchange({
      maxMessageBytes: this.#options.maxMessageBytes ?? 16 * MIB,
      onAccepted: (headers) => {
        if (opensSession) this.sessionId = headers['mcp-session-id'] as string | undefined;
      },
      onMessage: (message) => {
        if (asked !== undefined && isObject(message) && message.id === asked && !message.method)
          this.#open.delete(asked);
        this.onmessage?.(message as Message, { askedBy: asked });
      },
    });
    if (asked !== undefined) this.#open.set(asked, exchange);
    if (opensSession) this.sessionId = undefined;
    return exchange;
  }

  async #dispatch(exchange: Exchange, { method, body, headers }: Sending): Promise<Head> {
    const { server, url, dispatcher, authorize } = this.#options;
    const all: Headers = { ...this.#options.headers, ...(authorize && (await authorize())) };
    all.accept = 'application/json, text/event-stream';
    if (this.sessionId) all['mcp-session-id'] = this.sessionId;
    if (this.#version) all['mcp-protocol-version'] = this.#version;
    Object.assign(all, headers);
    const { origin } = url;
    if (exchange.aborted) throw toLineFailure(server, new Error('abandoned before it was sent'));
    dispatcher.dispatch({ origin, path: this.#path, method, headers: all, body: body ?? null }, exchange);
    return exchange.head.catch((error) => {
      throw toLineFailure(server, error);
    });
  }

  /** Waits until the request is answered, resuming a legacy stream that broke; else says that no answer will come. */
  async #follow(first: Exchange, id: number, unanswered: (() => void) | undefined): Promise<void> {
    let exchange = first;
    for (let resumes = 0; ; resumes++) {
      const error = await exchange.ended;
      if (!this.#open.has(id)) return;
      if (error) this.onerror?.(error);
      const { lastEventId, retryMs = this.#options.retryMs ?? 1000 } = exchange;
      // Modern lines have no version of their own, and no resumption.
      if (!this.#version || lastEventId === undefined || resumes === MAX_RESUMES) break;
      await this.#pause(retryMs);
      if (!this.#open.has(id)) return;
      exchange = this.#exchange(id);
      if (!(await this.#resume(exchange, lastEventId))?.ok) break;
    }
    this.#open.delete(id);
    unanswered?.();
  }

  #resume(exchange: Exchange, lastEventId: string | undefined): Promise<Head | undefined> {
    const headers = lastEventId === undefined ? undefined : { 'last-event-id': lastEventId };
    return this.#dispatch(exchange, { method: 'GET', headers }).catch((error) => {
      this.onerror?.(error);
      return undefined;
    });
  }

  /** The stream on which a legacy server speaks unasked. Backs off while it brings nothing. */
  async #listen(): Promise<void> {
    let lastEventId: string | undefined;
    for (let idle = 0; !this.#closing.signal.aborted; idle++) {
      const stream = this.#exchange(undefined);
      this.#listener = stream;
      const head = await this.#resume(stream, lastEventId);
      if (head && !head.ok && head.status < 500) return; // 405: this server has none.
      if (head?.ok) await stream.ended;
      if (stream.messages > 0) idle = 0;
      lastEventId = stream.lastEventId ?? lastEventId;
      const delay = (stream.retryMs ?? this.#options.retryMs ?? 1000) * 2 ** idle;
      await this.#pause(Math.min(delay, MAX_RETRY_MS));
    }
  }

  #pause(ms: number): Promise<void> {
    return wait(ms, undefined, { signal: this.#closing.signal, ref: false }).catch(() => {});
  }

  // The server has forgotten us, and a session begins with a handshake: on a new line, once this refusal is told.
  #loseSession(): void {
    this.sessionId = undefined;
    setImmediate(() => this.close());
  }

  #refused(head: Head, asked: number | undefined): void {
    if (asked !== undefined) this.#open.delete(asked);
    if (head.status === 404 && this.sessionId) this.#loseSession();
    const answer = parse(head.text);
    // A modern server puts its JSON-RPC error into a 400 or 404; that is an answer, not a broken line.
    const isAnswer = asked !== undefined && isObject(answer) && answer.id === asked && answer.error !== undefined;
    if (!isAnswer) throw toRefusal(this.#options.server, head);
    this.onmessage?.(answer, { askedBy: asked });
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
