import type { JsonObject } from '../core/call.ts';
import { HeddleError, UpstreamError } from '../core/errors.ts';
import { isObject } from '../core/json.ts';
import { AnsweringSide, type AnswerOptions } from './answering-side.ts';
import { type Line, type Message, RpcError } from './json-rpc.ts';

export interface Ask {
  /** Silence longer than this fails the request. */
  readonly deadlineMs: number;
  /** Progress restarts the deadline, but never past this; default: the deadline itself. */
  readonly longestMs?: number;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: JsonObject) => void) | undefined;
}

export interface PeerOptions extends AnswerOptions {
  /** Who is at the other end, for error messages. */
  readonly server: string;
  /** `askedBy` is our request id when the line knows on whose stream the notification came. */
  readonly hear?: (method: string, params: JsonObject, askedBy: number | undefined) => void;
}

interface Pending {
  readonly method: string;
  readonly resolve: (result: JsonObject) => void;
  readonly reject: (error: Error) => void;
  readonly ask: Ask;
  readonly timer: NodeJS.Timeout;
  readonly lastMoment: number;
  readonly onAbort: (() => void) | undefined;
}

// A timer told to wait longer fires at once.
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** One JSON-RPC conversation over one line. Results come back exactly as the other side wrote them. */
export class Peer {
  /** Messages nobody was waiting for. `stale`: answered twice, or after we gave up. */
  readonly dropped = { malformed: 0, unknown: 0, stale: 0 };
  /** Settles when the line is gone, for whatever reason. Never rejects. */
  readonly closed: Promise<void>;
  readonly #line: Line;
  readonly #options: PeerOptions;
  readonly #answering: AnsweringSide;
  readonly #pending = new Map<number, Pending>();
  #whenIdle: PromiseWithResolvers<void> | undefined;
  #envelope: JsonObject | undefined;
  #lastId = 0;
  #down = false;

  constructor(line: Line, options: PeerOptions) {
    this.#line = line;
    this.#options = options;
    this.#answering = new AnsweringSide(options, (message) => line.send(message));
    this.closed = new Promise((resolve) => {
      line.onclose = () => {
        this.#lose();
        resolve();
      };
    });
    line.onerror = (error) => options.trouble?.(error);
    line.onmessage = (message, origin) => this.#receive(message, origin?.askedBy);
  }

  start(): Promise<void> {
    return this.#line.start();
  }

  close(): Promise<void> {
    return this.#line.close();
  }

  /** Settles when nothing is under way any more. */
  idle(): Promise<void> {
    if (this.#pending.size === 0) return Promise.resolve();
    this.#whenIdle ??= Promise.withResolvers<void>();
    return this.#whenIdle.promise;
  }

  /** From now on every message carries this envelope, and cancelling closes the stream where there is one. */
  speakModern(envelope: JsonObject): void {
    this.#envelope = envelope;
  }

  request(method: string, params: JsonObject, ask: Ask): Promise<JsonObject> {
    const { server } = this.#options;
    if (this.#down) return Promise.reject(lost(server, 'no'));
    if (ask.signal?.aborted) return Promise.reject(cancelled(server));
    const id = ++this.#lastId;
    const { promise, resolve, reject } = Promise.withResolvers<JsonObject>();
    const onAbort = ask.signal && (() => this.#giveUp(id, cancelled(server)));
    if (onAbort) ask.signal?.addEventListener('abort', onAbort, { once: true });
    const giveUp = () => this.#giveUp(id, late(server, ask.deadlineMs));
    const timer = setTimeout(giveUp, Math.min(ask.deadlineMs, LONGEST_TIMER_MS)).unref();
    const lastMoment = ask.onProgress ? performance.now() + (ask.longestMs ?? ask.deadlineMs) : 0;
    this.#pending.set(id, { method, resolve, reject, ask, timer, lastMoment, onAbort });

    const message = { jsonrpc: '2.0', id, method, params: this.#withMeta(params, ask.onProgress && id) };
    const fail = (error: Error) => this.#take(id)?.reject(error);
    const options = this.#line.hasPerRequestStream
      ? { onRequestStreamEnd: () => fail(lost(server, 'maybe')) }
      : undefined;
    this.#line.send(message, options).catch(fail);
    return promise;
  }

  notify(method: string, params: JsonObject = {}): Promise<void> {
    return this.#line.send({ jsonrpc: '2.0', method, params: this.#withMeta(params, undefined) });
  }

  // Ours win over the caller's: a forwarded token or envelope would speak for somebody else.
  #withMeta(params: JsonObject, progressToken: number | undefined): JsonObject {
    const envelope = this.#envelope;
    if (!envelope && progressToken === undefined) return params;
    const own = progressToken === undefined ? envelope : { ...envelope, progressToken };
    return { ...params, _meta: { ...(params._meta as JsonObject | undefined), ...own } };
  }

  #take(id: number): Pending | undefined {
    const entry = this.#pending.get(id);
    if (!entry) return undefined;
    this.#pending.delete(id);
    if (this.#whenIdle && this.#pending.size === 0) this.#whenIdle.resolve();
    clearTimeout(entry.timer);
    if (entry.onAbort) entry.ask.signal?.removeEventListener('abort', entry.onAbort);
    return entry;
  }

  #giveUp(id: number, error: Error): void {
    const entry = this.#take(id);
    if (!entry) return;
    entry.reject(error);
    const closesStream = this.#envelope !== undefined && this.#line.hasPerRequestStream === true;
    // The protocol forbids cancelling `initialize`: whoever gives up on that closes the line.
    if (!closesStream && entry.method !== 'initialize') {
      this.notify('notifications/cancelled', { requestId: id, reason: error.message }).catch(() => {});
    }
    this.#line.abandon?.(id);
  }

  #lose(): void {
    this.#down = true;
    this.#answering.close();
    for (const id of [...this.#pending.keys()]) this.#take(id)?.reject(lost(this.#options.server, 'maybe'));
  }

  #receive(message: Message | readonly Message[], askedBy: number | undefined): void {
    if (Array.isArray(message)) {
      for (const one of message) this.#receive(one, askedBy); // 2025-03-26 allowed batches.
    } else if (!isObject(message)) {
      this.dropped.malformed++;
    } else if (typeof message.method !== 'string') {
      this.#settle(message);
    } else {
      const params = isObject(message.params) ? message.params : {};
      const { id, method } = message;
      if (id === undefined) this.#hear(method, params, askedBy);
      else if (typeof id === 'string' || typeof id === 'number') void this.#answering.answer(id, method, params);
      else this.dropped.malformed++;
    }
  }

  #settle({ id, result, error }: Message): void {
    if (!isObject(result) && error === undefined) this.dropped.malformed++;
    else if (typeof id !== 'number' || id < 1 || id > this.#lastId) this.dropped.unknown++;
    else {
      const entry = this.#take(id);
      if (!entry) this.dropped.stale++;
      else if (isObject(result)) entry.resolve(result);
      else entry.reject(RpcError.fromAnswer(error));
    }
  }

  #hear(method: string, params: JsonObject, askedBy: number | undefined): void {
    if (method === 'notifications/progress') this.#progress(params);
    else {
      if (method === 'notifications/cancelled') this.#answering.cancel(params.requestId);
      this.#options.hear?.(method, params, askedBy);
    }
  }

  #progress(params: JsonObject): void {
    const entry = this.#pending.get(params.progressToken as number);
    if (!entry?.ask.onProgress) {
      this.dropped.stale++;
      return;
    }
    if (performance.now() + entry.ask.deadlineMs <= entry.lastMoment) entry.timer.refresh();
    try {
      entry.ask.onProgress(params);
    } catch (thrown) {
      // The listener belongs to whoever called; the line carries the calls of others too.
      this.#options.trouble?.(thrown instanceof Error ? thrown : new Error(String(thrown)));
    }
  }
}

const late = (server: string, deadlineMs: number) =>
  new UpstreamError('UPSTREAM_TIMEOUT', `${server} did not answer within ${deadlineMs} ms.`, { delivered: 'maybe' });
const cancelled = (server: string) => new HeddleError('CALL_CANCELLED', `The call to ${server} was cancelled.`);
const lost = (server: string, delivered: 'no' | 'maybe') =>
  new UpstreamError('UPSTREAM_FAILED', `The line to ${server} was lost.`, { delivered });
