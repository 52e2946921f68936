import { abortable } from '../core/async/abortable.ts';
import type { JsonObject } from '../core/call.ts';
import { HeddleError, UpstreamError } from '../core/errors.ts';
import { isObject } from '../core/json.ts';
import { type IncomingRequestOptions, IncomingRequests, isRequestId } from './incoming-requests.ts';
import { type Message, RpcError, toInvalidResponse } from './json-rpc.ts';
import type { RequestOptions } from './request-options.ts';
import type { Transport } from './transport.ts';

export interface PeerOptions extends IncomingRequestOptions {
  /** The name of the other side in error messages. */
  readonly server: string;
  /** `relatedRequestId` is our request id, if the transport knows on whose stream the notification arrived. */
  readonly onNotification?: (method: string, params: JsonObject, relatedRequestId: number | undefined) => void;
}

interface Settlers {
  readonly method: string;
  readonly resolve: (result: JsonObject) => void;
  readonly reject: (error: Error) => void;
}

interface Pending extends Settlers {
  readonly options: RequestOptions;
  readonly lastMoment: number;
  readonly giveUp: () => void;
  readonly onAbort: (() => void) | undefined;
  timer: NodeJS.Timeout;
  /** True while the deadline does not run. */
  isPaused: boolean;
}

/** Counts of unexpected messages. `stale`: a second response, or a response after the request was given up. */
export interface DroppedCounts {
  readonly malformed: number;
  readonly unknown: number;
  readonly stale: number;
}

// A timer with a longer delay fires at once.
const LONGEST_TIMER_MS = 2 ** 31 - 1;
const LATE_MS = 5000;

/** A JSON-RPC peer over one transport. Results are returned exactly as the other side wrote them. */
export class Peer {
  readonly #dropped = { malformed: 0, unknown: 0, stale: 0 };
  /** Settles when the transport has closed, for any reason. Never rejects. */
  readonly closed: Promise<void>;
  readonly #transport: Transport;
  readonly #options: PeerOptions;
  readonly #incoming: IncomingRequests;
  readonly #pending = new Map<number, Pending>();
  #whenIdle: PromiseWithResolvers<void> | undefined;
  #envelope: JsonObject | undefined;
  #lastId = 0;
  #down = false;

  constructor(transport: Transport, options: PeerOptions) {
    this.#transport = transport;
    this.#options = options;
    this.#incoming = new IncomingRequests(options, (message) => transport.send(message));
    this.closed = new Promise((resolve) => {
      transport.onclose = () => {
        this.#lose();
        resolve();
      };
    });
    transport.onerror = (error) => options.trouble?.(error);
    transport.onlost = (id, error) => this.#take(id)?.reject(error);
    transport.onmessage = (message, origin) => this.#receive(message, origin?.relatedRequestId);
  }

  get dropped(): DroppedCounts {
    return this.#dropped;
  }

  start(): Promise<void> {
    return this.#transport.start();
  }

  close(): Promise<void> {
    return this.#transport.close();
  }

  /** Settles when no request is in flight. */
  async idle(): Promise<void> {
    while (this.#pending.size > 0) {
      this.#whenIdle ??= Promise.withResolvers<void>();
      await this.#whenIdle.promise;
    }
  }

  /** Switches to the modern era: every message carries this envelope, and cancelling closes the request's stream. */
  speakModern(envelope: JsonObject): void {
    this.#envelope = envelope;
  }

  request(method: string, params: JsonObject, options: RequestOptions): Promise<JsonObject> {
    const { server } = this.#options;
    if (this.#down) return Promise.reject(lost(server, 'no'));
    if (options.signal?.aborted) return Promise.reject(cancelled(server));
    const id = ++this.#lastId;
    const { promise, resolve, reject } = Promise.withResolvers<JsonObject>();
    this.#pending.set(id, this.#watch(id, options, { method, resolve, reject }));
    options.onId?.(id);

    const message = { jsonrpc: '2.0', id, method, params: this.#withMeta(params, options, id) };
    const fail = (error: Error) => this.#take(id)?.reject(error);
    const { headers, deadlineMs, repeatable = method !== 'tools/call' } = options;
    const sendOptions = this.#transport.hasPerRequestStream
      ? {
          onRequestStreamEnd: (reason?: Error) => fail(reason ?? lost(server, 'maybe')),
          deadlineMs,
          repeatable,
          ...(headers && { headers }),
        }
      : undefined;
    try {
      this.#transport.send(message, sendOptions).catch(fail);
    } catch (thrown) {
      fail(thrown as Error); // The message cannot be written as JSON.
    }
    return promise;
  }

  /** Pauses the deadline of a request, because the other side waits for a user. Its signal still ends it. */
  hold(id: number): void {
    const entry = this.#pending.get(id);
    if (!entry) return;
    clearTimeout(entry.timer);
    entry.isPaused = true;
  }

  /** Resumes a paused request with another deadline, signal and progress listener. */
  resume(id: number, options: RequestOptions): void {
    const entry = this.#pending.get(id);
    if (!entry) return;
    this.#unwatch(entry);
    if (options.signal?.aborted) this.#giveUp(id, cancelled(this.#options.server));
    else this.#pending.set(id, this.#watch(id, options, entry));
  }

  /** Gives up a request in flight and sends `notifications/cancelled`. */
  cancel(id: number, error: Error): void {
    this.#giveUp(id, error);
  }

  /** Settles when the transport has accepted the notification. After an abort its delivery is unknown. */
  notify(method: string, params: JsonObject = {}, signal?: AbortSignal): Promise<void> {
    const message = { jsonrpc: '2.0', method, params: this.#withMeta(params) };
    if (!signal) return this.#transport.send(message);
    if (signal.aborted) return Promise.reject(cancelled(this.#options.server));
    return abortable(this.#transport.send(message, { signal }), signal);
  }

  #watch(id: number, options: RequestOptions, { method, resolve, reject }: Settlers): Pending {
    const { server } = this.#options;
    const onAbort = options.signal && (() => this.#giveUp(id, cancelled(server)));
    if (onAbort) options.signal?.addEventListener('abort', onAbort, { once: true });
    const giveUp = () => this.#giveUp(id, late(server, options.deadlineMs));
    const timer = setTimeout(giveUp, Math.min(options.deadlineMs, LONGEST_TIMER_MS)).unref();
    const lastMoment = options.onProgress ? performance.now() + (options.longestMs ?? options.deadlineMs) : 0;
    return { method, resolve, reject, options, timer, lastMoment, giveUp, isPaused: false, onAbort };
  }

  #unwatch({ timer, onAbort, options }: Pending): void {
    clearTimeout(timer);
    if (onAbort) options.signal?.removeEventListener('abort', onAbort);
  }

  // Our envelope and token override the caller's: forwarded ones would belong to another connection.
  #withMeta(params: JsonObject, options?: RequestOptions, id?: number): JsonObject {
    const envelope = this.#envelope;
    const progressToken = options?.onProgress && options.progressOf === undefined ? id : undefined;
    if (!envelope && progressToken === undefined) return params;
    const meta = { ...(params._meta as JsonObject | undefined), ...envelope, ...(envelope && options?.envelope) };
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
    const { onLate } = entry.options;
    if (onLate) {
      this.#pending.set(id, this.#watch(id, { deadlineMs: LATE_MS }, { ...entry, resolve: onLate, reject() {} }));
      return;
    }
    const closesStream = this.#envelope !== undefined && this.#transport.hasPerRequestStream === true;
    // MCP forbids cancelling `initialize`. The caller closes the connection instead.
    const sent =
      closesStream || entry.method === 'initialize'
        ? Promise.resolve()
        : this.notify('notifications/cancelled', { requestId: id, reason: error.message }).catch(() => {});
    this.#transport.abandon?.(id);
    entry.options.onGivenUp?.(sent);
  }

  #lose(): void {
    this.#down = true;
    this.#incoming.close();
    for (const id of [...this.#pending.keys()]) this.#take(id)?.reject(lost(this.#options.server, 'maybe'));
  }

  #receive(message: Message | readonly Message[], relatedRequestId: number | undefined): void {
    if (Array.isArray(message)) {
      for (const one of message) this.#receive(one, relatedRequestId); // A batch of 2025-03-26.
    } else if (!isObject(message)) {
      this.#dropped.malformed++;
    } else if (typeof message.method !== 'string') {
      this.#settle(message);
    } else {
      const params = isObject(message.params) ? message.params : {};
      const { id, method } = message;
      if (id === undefined) this.#notified(method, params, relatedRequestId);
      else if (isRequestId(id)) void this.#incoming.answer({ id, method, params, relatedRequestId });
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

  #notified(method: string, params: JsonObject, relatedRequestId: number | undefined): void {
    if (method === 'notifications/progress') this.#progress(params);
    else {
      if (method === 'notifications/cancelled') this.#incoming.cancel(params.requestId);
      if (relatedRequestId !== undefined) this.#pending.get(relatedRequestId)?.options.onNotification?.(method, params);
      this.#options.onNotification?.(method, params, relatedRequestId);
    }
  }

  /** Restarts the deadline after progress, up to `longestMs`. */
  #extend(entry: Pending): void {
    const { options, timer, lastMoment, giveUp, isPaused } = entry;
    if (isPaused) return;
    const left = lastMoment - performance.now();
    if (left >= options.deadlineMs) timer.refresh();
    else {
      clearTimeout(timer);
      entry.timer = setTimeout(giveUp, Math.max(left, 0)).unref();
    }
  }

  #continuing(token: unknown): Pending | undefined {
    if (typeof token !== 'number') return undefined;
    for (const entry of this.#pending.values()) if (entry.options.progressOf === token) return entry;
    return undefined;
  }

  #progress(params: JsonObject): void {
    const token = params.progressToken as number;
    const entry = this.#pending.get(token) ?? this.#continuing(token);
    if (!entry?.options.onProgress) {
      this.#dropped.stale++;
      return;
    }
    this.#extend(entry);
    try {
      entry.options.onProgress(params);
    } catch (thrown) {
      // The listener belongs to one caller; the connection also carries calls of others.
      this.#options.trouble?.(thrown instanceof Error ? thrown : new Error(String(thrown)));
    }
  }
}

const late = (server: string, deadlineMs: number) =>
  new UpstreamError('UPSTREAM_TIMEOUT', `${server} did not answer within ${deadlineMs} ms.`, { delivered: 'maybe' });
const cancelled = (server: string) => new HeddleError('CALL_CANCELLED', `The call to ${server} was cancelled.`);
const lost = (server: string, delivered: 'no' | 'maybe') =>
  new UpstreamError('UPSTREAM_FAILED', `The connection to ${server} was lost.`, {
    delivered,
    details: { connectionLost: true },
  });
