import { abortable } from '../core/async/abortable.ts';
import type { JsonObject } from '../core/call.ts';
import { HeddleError, UpstreamError } from '../core/errors.ts';
import { isObject } from '../core/json.ts';
import { type IncomingRequestOptions, IncomingRequests, isRequestId } from './incoming-requests.ts';
import { type Message, RpcError, type Transport, toInvalidResponse } from './json-rpc.ts';
import type { RequestOptions } from './request-options.ts';

export interface PeerOptions extends IncomingRequestOptions {
  /** Who is at the other end, for error messages. */
  readonly server: string;
  /** `askedBy` is our request id when the line knows on whose stream the notification came. */
  readonly onNotification?: (method: string, params: JsonObject, askedBy: number | undefined) => void;
}

interface Asking {
  readonly method: string;
  readonly resolve: (result: JsonObject) => void;
  readonly reject: (error: Error) => void;
}

interface Pending extends Asking {
  readonly ask: RequestOptions;
  readonly lastMoment: number;
  readonly giveUp: () => void;
  readonly onAbort: (() => void) | undefined;
  timer: NodeJS.Timeout;
  /** Its clock stands still. */
  held: boolean;
}

/** Messages nobody was waiting for. `stale`: answered twice, or after we gave up. */
export interface DroppedCounts {
  readonly malformed: number;
  readonly unknown: number;
  readonly stale: number;
}

// A timer told to wait longer fires at once.
const LONGEST_TIMER_MS = 2 ** 31 - 1;
const LATE_MS = 5000;

/** One JSON-RPC conversation over one line. Results come back exactly as the other side wrote them. */
export class Peer {
  readonly #dropped = { malformed: 0, unknown: 0, stale: 0 };
  /** Settles when the line is gone, for whatever reason. Never rejects. */
  readonly closed: Promise<void>;
  readonly #line: Transport;
  readonly #options: PeerOptions;
  readonly #answering: IncomingRequests;
  readonly #pending = new Map<number, Pending>();
  #whenIdle: PromiseWithResolvers<void> | undefined;
  #envelope: JsonObject | undefined;
  #lastId = 0;
  #down = false;

  constructor(line: Transport, options: PeerOptions) {
    this.#line = line;
    this.#options = options;
    this.#answering = new IncomingRequests(options, (message) => line.send(message));
    this.closed = new Promise((resolve) => {
      line.onclose = () => {
        this.#lose();
        resolve();
      };
    });
    line.onerror = (error) => options.trouble?.(error);
    line.onlost = (id, error) => this.#take(id)?.reject(error);
    line.onmessage = (message, origin) => this.#receive(message, origin?.relatedRequestId);
  }

  get dropped(): DroppedCounts {
    return this.#dropped;
  }

  start(): Promise<void> {
    return this.#line.start();
  }

  close(): Promise<void> {
    return this.#line.close();
  }

  /** Settles when nothing is under way any more. */
  async idle(): Promise<void> {
    while (this.#pending.size > 0) {
      this.#whenIdle ??= Promise.withResolvers<void>();
      await this.#whenIdle.promise;
    }
  }

  /** From now on every message carries this envelope, and cancelling closes the stream where there is one. */
  speakModern(envelope: JsonObject): void {
    this.#envelope = envelope;
  }

  request(method: string, params: JsonObject, ask: RequestOptions): Promise<JsonObject> {
    const { server } = this.#options;
    if (this.#down) return Promise.reject(lost(server, 'no'));
    if (ask.signal?.aborted) return Promise.reject(cancelled(server));
    const id = ++this.#lastId;
    const { promise, resolve, reject } = Promise.withResolvers<JsonObject>();
    this.#pending.set(id, this.#watch(id, ask, { method, resolve, reject }));
    ask.onId?.(id);

    const message = { jsonrpc: '2.0', id, method, params: this.#withMeta(params, ask, id) };
    const fail = (error: Error) => this.#take(id)?.reject(error);
    const { headers, deadlineMs, repeatable = method !== 'tools/call' } = ask;
    const options = this.#line.hasPerRequestStream
      ? {
          onRequestStreamEnd: (why?: Error) => fail(why ?? lost(server, 'maybe')),
          deadlineMs,
          repeatable,
          ...(headers && { headers }),
        }
      : undefined;
    try {
      this.#line.send(message, options).catch(fail);
    } catch (thrown) {
      fail(thrown as Error); // What cannot be written as JSON.
    }
    return promise;
  }

  /** Stops the clock of a request: the other side waits for a person. Its signal still ends it. */
  hold(id: number): void {
    const entry = this.#pending.get(id);
    if (!entry) return;
    clearTimeout(entry.timer);
    entry.held = true;
  }

  /** Goes on with a request that was held, under another deadline, signal and progress listener. */
  resume(id: number, ask: RequestOptions): void {
    const entry = this.#pending.get(id);
    if (!entry) return;
    this.#unwatch(entry);
    if (ask.signal?.aborted) this.#giveUp(id, cancelled(this.#options.server));
    else this.#pending.set(id, this.#watch(id, ask, entry));
  }

  /** Gives up on a request that is still under way, and says so to the other side. */
  cancel(id: number, error: Error): void {
    this.#giveUp(id, error);
  }

  /** Settles when the line has taken it. An abort ends the wait; whether it was heard is then unknown. */
  notify(method: string, params: JsonObject = {}, signal?: AbortSignal): Promise<void> {
    const message = { jsonrpc: '2.0', method, params: this.#withMeta(params) };
    if (!signal) return this.#line.send(message);
    if (signal.aborted) return Promise.reject(cancelled(this.#options.server));
    return abortable(this.#line.send(message, { signal }), signal);
  }

  #watch(id: number, ask: RequestOptions, { method, resolve, reject }: Asking): Pending {
    const { server } = this.#options;
    const onAbort = ask.signal && (() => this.#giveUp(id, cancelled(server)));
    if (onAbort) ask.signal?.addEventListener('abort', onAbort, { once: true });
    const giveUp = () => this.#giveUp(id, late(server, ask.deadlineMs));
    const timer = setTimeout(giveUp, Math.min(ask.deadlineMs, LONGEST_TIMER_MS)).unref();
    const lastMoment = ask.onProgress ? performance.now() + (ask.longestMs ?? ask.deadlineMs) : 0;
    return { method, resolve, reject, ask, timer, lastMoment, giveUp, held: false, onAbort };
  }

  #unwatch({ timer, onAbort, ask }: Pending): void {
    clearTimeout(timer);
    if (onAbort) ask.signal?.removeEventListener('abort', onAbort);
  }

  // Ours win over the caller's: a forwarded token or envelope would speak for somebody else.
  #withMeta(params: JsonObject, ask?: RequestOptions, id?: number): JsonObject {
    const envelope = this.#envelope;
    const progressToken = ask?.onProgress && ask.progressOf === undefined ? id : undefined;
    if (!envelope && progressToken === undefined) return params;
    const meta = { ...(params._meta as JsonObject | undefined), ...envelope, ...(envelope && ask?.envelope) };
    return { ...params, _meta: progressToken === undefined ? meta : { ...meta, progressToken } };
  }

  #take(id: number): Pending | undefined {
    const entry = this.#pending.get(id);
    if (!entry) return undefined;
    this.#pending.delete(id);
    if (this.#whenIdle && this.#pending.size === 0) {
      this.#whenIdle.resolve();
      this.#whenIdle = undefined;
    }
    this.#unwatch(entry);
    return entry;
  }

  #giveUp(id: number, error: Error): void {
    const entry = this.#take(id);
    if (!entry) return;
    entry.reject(error);
    const { onLate } = entry.ask;
    if (onLate) {
      this.#pending.set(id, this.#watch(id, { deadlineMs: LATE_MS }, { ...entry, resolve: onLate, reject() {} }));
      return;
    }
    const closesStream = this.#envelope !== undefined && this.#line.hasPerRequestStream === true;
    // The protocol forbids cancelling `initialize`: whoever gives up on that closes the line.
    const told =
      closesStream || entry.method === 'initialize'
        ? Promise.resolve()
        : this.notify('notifications/cancelled', { requestId: id, reason: error.message }).catch(() => {});
    this.#line.abandon?.(id);
    entry.ask.onGivenUp?.(told);
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
      this.#dropped.malformed++;
    } else if (typeof message.method !== 'string') {
      this.#settle(message);
    } else {
      const params = isObject(message.params) ? message.params : {};
      const { id, method } = message;
      if (id === undefined) this.#hear(method, params, askedBy);
      else if (isRequestId(id)) void this.#answering.answer({ id, method, params, relatedRequestId: askedBy });
      else this.#dropped.malformed++;
    }
  }

  #settle(message: Message): void {
    const { id, result, error = null } = message;
    // Older servers write `null` for the one that is absent.
    const isInvalid = isObject(result) ? isObject(error) : error === null;
    if (isInvalid) this.#dropped.malformed++;
    const entry = typeof id === 'number' ? this.#take(id) : undefined;
    if (entry && isInvalid) entry.reject(toInvalidResponse(this.#options.server, entry.method, message));
    else if (entry && isObject(result)) entry.resolve(result);
    else if (entry) entry.reject(RpcError.fromError(error));
    else if (!isInvalid) this.#dropped[this.#isKnown(id) ? 'stale' : 'unknown']++;
  }

  #isKnown(id: unknown): boolean {
    return typeof id === 'number' && id >= 1 && id <= this.#lastId;
  }

  #hear(method: string, params: JsonObject, askedBy: number | undefined): void {
    if (method === 'notifications/progress') this.#progress(params);
    else {
      if (method === 'notifications/cancelled') this.#answering.cancel(params.requestId);
      if (askedBy !== undefined) this.#pending.get(askedBy)?.ask.onNotification?.(method, params);
      this.#options.onNotification?.(method, params, askedBy);
    }
  }

  /** Silence begins anew, but never lasts past the last moment. */
  #extend(entry: Pending): void {
    const { ask, timer, lastMoment, giveUp, held } = entry;
    if (held) return;
    const left = lastMoment - performance.now();
    if (left >= ask.deadlineMs) timer.refresh();
    else {
      clearTimeout(timer);
      entry.timer = setTimeout(giveUp, Math.max(left, 0)).unref();
    }
  }

  #goingOn(token: unknown): Pending | undefined {
    if (typeof token !== 'number') return undefined;
    for (const entry of this.#pending.values()) if (entry.ask.progressOf === token) return entry;
    return undefined;
  }

  #progress(params: JsonObject): void {
    const token = params.progressToken as number;
    const entry = this.#pending.get(token) ?? this.#goingOn(token);
    if (!entry?.ask.onProgress) {
      this.#dropped.stale++;
      return;
    }
    this.#extend(entry);
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
  new UpstreamError('UPSTREAM_FAILED', `The line to ${server} was lost.`, {
    delivered,
    details: { connectionLost: true },
  });
