import { TextDecoder } from 'node:util';
import { createParser, type EventSourceParser } from 'eventsource-parser';
import type { Dispatcher } from 'undici';
import { parseJson } from '../core/json.ts';
import { GatheredBytes } from '../wire/gathered-bytes.ts';

export interface Head {
  readonly ok: boolean;
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The body of a refusal, shortened; empty when `ok`. */
  readonly text: string;
}

export interface ExchangeOptions {
  readonly maxMessageBytes: number;
  /** Called before the first message, so that what the headers say is known by then. */
  readonly onAccepted?: ((headers: Head['headers']) => void) | undefined;
  readonly onMessage: (message: unknown) => void;
  /** Events of a stream that are no messages. */
  readonly onEvent?: (event: string, data: string) => void;
  /** Called once when it is over, however it ended: its socket is then no longer in use. */
  readonly onEnd?: () => void;
}

const MAX_ERROR_CHARS = 64 * 1024;

/** One HTTP exchange, read as it arrives: JSON whole, server-sent events one by one. */
export class Exchange implements Dispatcher.DispatchHandler {
  /** Rejects only when the server was not heard at all. */
  readonly head: Promise<Head>;
  /** The failure that cut the body short, if any. Never rejects. */
  readonly ended: Promise<Error | undefined>;
  messages = 0;
  lastEventId: string | undefined;
  retryMs: number | undefined;
  aborted = false;
  readonly #options: ExchangeOptions;
  readonly #head = Promise.withResolvers<Head>();
  readonly #ended = Promise.withResolvers<Error | undefined>();
  #controller: Dispatcher.DispatchController | undefined;
  #start: Omit<Head, 'text'> | undefined;
  #parser: EventSourceParser | undefined;
  #decoder: TextDecoder | undefined;
  readonly #body = new GatheredBytes();
  #bytes = 0;

  constructor(options: ExchangeOptions) {
    this.#options = options;
    this.head = this.#head.promise;
    this.ended = this.#ended.promise;
    this.head.catch(() => {}); // Whoever only waits for the end learns of the failure there.
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

  onResponseStart(_: unknown, status: number, headers: Head['headers']): void {
    const ok = status >= 200 && status < 300;
    this.#start = { ok, status, headers };
    if (!ok) return;
    this.#options.onAccepted?.(headers);
    if (/^text\/event-stream\b/i.test(String(headers['content-type']))) this.#readEvents();
    this.#head.resolve({ ...this.#start, text: '' });
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes > this.#options.maxMessageBytes) {
      controller.abort(new Error(`more than ${this.#options.maxMessageBytes} bytes in one message`));
    } else if (this.#parser) this.#parser.feed((this.#decoder as TextDecoder).decode(chunk, { stream: true }));
    else this.#body.add(chunk);
  }

  onResponseEnd(): void {
    if (!this.#parser) {
      const body = this.#body.take().toString('utf8');
      const start = this.#start as Omit<Head, 'text'>;
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
        if (id) this.lastEventId = id; // Also of an event without data, which is never told.
      },
      onEvent: ({ data, event = 'message' }) => {
        this.#bytes = 0; // The limit is per message; a stream may live for days.
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
      message = parseJson(text, { keys: 'any' });
    } catch {
      return; // Without JSON there is no id: the end of the exchange fails whoever waits.
    }
    this.messages++;
    this.#options.onMessage(message);
  }
}
