import { TextDecoder } from 'node:util';
import { createParser, type EventSourceParser } from 'eventsource-parser';
import type { Dispatcher } from 'undici';
import { isObject, parseJson } from '../../core/json.ts';
import { GatheredBytes } from '../../wire/gathered-bytes.ts';
import { answeredId, tooLarge, unreadable, whyUnreadable } from './bad-message.ts';
import { describeHtml } from './html-page.ts';

export interface ResponseHead {
  readonly ok: boolean;
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The body of a response with an error status, shortened; empty when `ok` and for a 401. */
  readonly text: string;
}

export interface Sending {
  readonly method: 'POST' | 'GET' | 'DELETE';
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The method of the JSON-RPC message in the body. */
  readonly rpcMethod?: string;
}

export interface Purpose {
  readonly opensSession?: boolean;
  /** True for a stream that was resumed for one response. The server may leave it open after that. */
  readonly resumes?: boolean;
}

export interface HttpExchangeOptions {
  readonly server: string;
  readonly maxMessageBytes: number;
  /** Receives the headers before the first message. */
  readonly onAccepted?: ((headers: ResponseHead['headers']) => void) | undefined;
  readonly onMessage: (message: unknown) => void;
  /** Called for a response in an event stream that cannot be parsed. */
  readonly onUnreadable?: (id: number, error: Error) => void;
  /** Receives events of a stream that are not messages. */
  readonly onEvent?: (event: string, data: string) => void;
  /** Called once when the exchange has ended in any way and its socket is free. */
  readonly onEnd?: () => void;
}

const MAX_ERROR_CHARS = 64 * 1024;

/** Reads one HTTP response as it arrives: JSON as a whole, server-sent events one by one. */
export class HttpExchange implements Dispatcher.DispatchHandler {
  /** Rejects only when no response arrived. */
  readonly head: Promise<ResponseHead>;
  /** The failure that cut the body short, if any. Never rejects. */
  readonly ended: Promise<Error | undefined>;
  messages = 0;
  /** The parse error of the last unreadable message. */
  unread: string | undefined;
  /** The description of an HTML page that came instead of a message. */
  page: string | undefined;
  /** The id of the last response in it. */
  responseId: unknown;
  lastEventId: string | undefined;
  retryMs: number | undefined;
  aborted = false;
  /** The headers that the credential gave the request. */
  authorized: Readonly<Record<string, string>> = {};
  readonly #options: HttpExchangeOptions;
  readonly #head = Promise.withResolvers<ResponseHead>();
  readonly #ended = Promise.withResolvers<Error | undefined>();
  #controller: Dispatcher.DispatchController | undefined;
  #start: Omit<ResponseHead, 'text'> | undefined;
  #parser: EventSourceParser | undefined;
  #decoder: TextDecoder | undefined;
  readonly #body = new GatheredBytes();
  #bytes = 0;

  constructor(options: HttpExchangeOptions) {
    this.#options = options;
    this.head = this.#head.promise;
    this.ended = this.#ended.promise;
    this.head.catch(() => {}); // `ended` reports the failure, too.
  }

  /** The status and headers, once they have arrived. */
  get start(): Omit<ResponseHead, 'text'> | undefined {
    return this.#start;
  }

  get isEventStream(): boolean {
    return this.#parser !== undefined;
  }

  abort(): void {
    this.aborted = true;
    this.#controller?.abort(new Error('abandoned'));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.aborted) controller.abort(new Error('abandoned'));
  }

  onResponseStart(_: unknown, status: number, headers: ResponseHead['headers']): void {
    const ok = status >= 200 && status < 300;
    this.#start = { ok, status, headers };
    if (status === 401) this.#head.resolve({ ...this.#start, text: '' }); // Its body says nothing that is used.
    if (!ok) return;
    this.#options.onAccepted?.(headers);
    if (/^text\/event-stream\b/i.test(String(headers['content-type']))) this.#readEvents();
    this.#head.resolve({ ...this.#start, text: '' });
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes > this.#options.maxMessageBytes) {
      const { server, maxMessageBytes } = this.#options;
      const length = Number(this.#start?.headers['content-length']) || undefined;
      controller.abort(tooLarge(server, maxMessageBytes, length));
    } else if (this.#parser) this.#parser.feed((this.#decoder as TextDecoder).decode(chunk, { stream: true }));
    else this.#body.add(chunk);
  }

  onResponseEnd(): void {
    if (!this.#parser) {
      const body = this.#body.take().toString('utf8');
      const start = this.#start as Omit<ResponseHead, 'text'>;
      if (!start.ok) this.#head.resolve({ ...start, text: body.slice(0, MAX_ERROR_CHARS) });
      else if (body !== '') this.#deliver(body);
    }
    this.#options.onEnd?.();
    this.#ended.resolve(undefined);
  }

  onResponseError(_: unknown, error: Error): void {
    this.#options.onEnd?.();
    this.#head.reject(error);
    this.#ended.resolve(error);
  }

  #readEvents(): void {
    this.#decoder = new TextDecoder();
    this.#parser = createParser({
      onId: (id) => {
        if (id) this.lastEventId = id; // Events without data have ids, too, but cause no `onEvent`.
      },
      onEvent: ({ data, event = 'message' }) => {
        this.#bytes = 0; // The limit is per message, because a stream may stay open for days.
        if (event !== 'message') this.#options.onEvent?.(event, data);
        else if (data !== '') this.#deliver(data);
      },
      onRetry: (ms) => {
        this.retryMs = ms;
      },
    });
  }

  #deliver(text: string): void {
    let message: unknown;
    try {
      message = parseJson(text, { keys: 'any', maxChars: Infinity, numbers: 'exact' });
    } catch (thrown) {
      this.unread = whyUnreadable(thrown);
      if (!this.#parser) this.page = describeHtml(text, this.#start?.headers['content-type']);
      const id = this.#parser && answeredId(text);
      if (id !== undefined) this.#options.onUnreadable?.(id, unreadable(this.#options.server, thrown));
      return; // Without an id the request fails when the exchange ends.
    }
    this.messages++;
    if (isObject(message) && message.method === undefined) this.responseId = message.id;
    this.#options.onMessage(message);
  }
}
