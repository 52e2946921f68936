import { setTimeout as sleep } from 'node:timers/promises';
import { abortable } from '../../core/async/abortable.ts';
import type { JsonObject } from '../../core/call.ts';
import { HeddleError, UpstreamError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import { type Clock, steadyClock } from '../../core/time.ts';
import { RpcError } from '../../wire/json-rpc.ts';
import { METHOD_NOT_FOUND } from '../../wire/mcp.ts';
import type { Peer } from '../../wire/peer.ts';
import { toFailure } from '../failure.ts';

export type Delay = (ms: number, signal: AbortSignal) => Promise<void>;

export interface ListenStreamOptions {
  readonly server: string;
  /** The list notifications to ask for, such as `toolsListChanged`. */
  readonly lists: JsonObject;
  /** Called when notifications may have been lost: every list and these resources may have changed. */
  readonly onGap: (uris: Iterable<string>) => void;
  readonly wait?: Delay | undefined;
  readonly clock?: Clock | undefined;
}

/** The state of one `subscriptions/listen` request. */
interface Listen {
  readonly uris: ReadonlySet<string>;
  readonly abort: AbortController;
  readonly since: number;
  /** The subscription id of its notifications, once it is acknowledged. */
  tag?: number;
  /** False when the server acknowledged none of the requested notifications. */
  honoured: boolean;
  hasNotified: boolean;
}

const ACKNOWLEDGE_MS = 15_000;
const FIRST_DELAY_MS = 1000;
const LONGEST_DELAY_MS = 30_000;
// The request stays open as long as the connection.
const NO_DEADLINE_MS = 2 ** 31 - 1;

/**
 * Keeps one `subscriptions/listen` open on a modern connection. Its filter cannot be changed, so for other resources a
 * second request is opened, and the first is aborted when that is acknowledged: no notification is lost in between.
 */
export class ListenStream {
  readonly #peer: Peer;
  readonly #options: ListenStreamOptions;
  readonly #wait: Delay;
  readonly #clock: Clock;
  readonly #closing = new AbortController();
  readonly #uris = new Set<string>();
  readonly #waiting = new Map<string, PromiseWithResolvers<void>>();
  #opening: Listen | undefined;
  #current: Listen | undefined;
  #pause: AbortController | undefined;
  #refusal: HeddleError | undefined;
  #renewing = false;
  #hasGap = false;
  #failures = 0;
  #lastTag = 0;

  constructor(peer: Peer, options: ListenStreamOptions) {
    this.#peer = peer;
    this.#options = options;
    this.#wait = options.wait ?? ((ms, signal) => sleep(ms, undefined, { signal, ref: false }));
    this.#clock = options.clock ?? steadyClock;
    void peer.closed.then(() => this.close());
    this.#renew();
  }

  /** Settles when the server has acknowledged the subscription to this resource. */
  async subscribe(uri: string, signal: AbortSignal): Promise<void> {
    if (this.#closing.signal.aborted) throw this.#gone();
    if (this.#refusal) throw this.#refusal;
    const waiting = this.#waiting.get(uri) ?? Promise.withResolvers<void>();
    this.#waiting.set(uri, waiting);
    this.#uris.add(uri);
    this.#pause?.abort(); // A subscriber waits, so the retry begins now.
    this.#renew();
    try {
      await abortable(waiting.promise, signal);
    } catch (thrown) {
      if (signal.aborted) this.unsubscribe(uri);
      throw thrown;
    }
  }

  unsubscribe(uri: string): void {
    this.#uris.delete(uri);
    this.#settle(uri, new HeddleError('CALL_CANCELLED', `The subscription to ${uri} was cancelled.`));
    this.#renew();
  }

  /** Tests whether a notification belongs to the current request. Those of an older request come on the newer one, too. */
  isCurrent(tag: number): boolean {
    if (this.#current?.tag !== tag) return false;
    this.#current.hasNotified = true;
    return true;
  }

  acknowledge(tag: number, honoured: unknown): void {
    const listen = this.#opening;
    if (!listen || tag <= this.#lastTag) return; // Ids only grow: this acknowledges a request that was given up.
    this.#lastTag = tag;
    listen.tag = tag;
    listen.honoured = !isObject(honoured) || Object.values(honoured).some(isSomething);
    this.#opening = undefined;
    this.#current?.abort.abort();
    this.#current = listen;
    this.#refuseUnhonoured(listen, honoured);
    for (const uri of listen.uris) this.#settle(uri);
    if (this.#hasGap) {
      this.#hasGap = false;
      this.#options.onGap([...listen.uris].filter((uri) => this.#uris.has(uri)));
    }
    this.#renew();
  }

  close(): void {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort();
    this.#pause?.abort();
    for (const listen of [this.#opening, this.#current]) listen?.abort.abort();
    this.#opening = undefined;
    this.#current = undefined;
    for (const uri of [...this.#waiting.keys()]) this.#settle(uri, this.#gone());
  }

  /** Schedules one adjustment for all changes of this turn. */
  #renew(): void {
    if (this.#renewing) return;
    this.#renewing = true;
    queueMicrotask(() => {
      this.#renewing = false;
      this.#adjust();
    });
  }

  #adjust(): void {
    // One opens at a time: two unacknowledged requests could not be distinguished.
    if (this.#closing.signal.aborted || this.#opening || this.#pause || this.#refusal) return;
    const filter = this.#filter();
    if (Object.keys(filter).length === 0) {
      this.#current?.abort.abort();
      this.#current = undefined;
    } else if (this.#current && isSame(this.#current.uris, this.#uris)) {
      for (const uri of this.#uris) this.#settle(uri);
    } else void this.#open(filter);
  }

  #filter(): JsonObject {
    const { lists } = this.#options;
    return this.#uris.size === 0 ? lists : { ...lists, resourceSubscriptions: [...this.#uris] };
  }

  async #open(notifications: JsonObject): Promise<void> {
    const abort = new AbortController();
    const listen: Listen = {
      uris: new Set(this.#uris),
      abort,
      since: this.#clock(),
      honoured: true,
      hasNotified: false,
    };
    this.#opening = listen;
    const timer = setTimeout(() => {
      if (this.#opening === listen) abort.abort();
    }, ACKNOWLEDGE_MS).unref();
    const options = { deadlineMs: NO_DEADLINE_MS, signal: abort.signal };
    try {
      await this.#peer.request('subscriptions/listen', { notifications }, options);
      this.#ended(listen, undefined);
    } catch (thrown) {
      this.#ended(listen, thrown);
    } finally {
      clearTimeout(timer);
    }
  }

  #ended(listen: Listen, thrown: unknown): void {
    if (listen === this.#opening) {
      this.#opening = undefined;
      this.#failed(listen, thrown);
    } else if (listen === this.#current) {
      this.#current = undefined;
      this.#hasGap = true;
      if (listen.hasNotified || this.#clock() - listen.since >= LONGEST_DELAY_MS) this.#failures = 0;
      if (listen.honoured && !this.#opening) void this.#retry();
    }
  }

  /** Handles a request that failed before its acknowledgement. The current one stays; waiting subscribers get the error. */
  #failed(listen: Listen, thrown: unknown): void {
    const error = this.#failure(listen, thrown);
    if (isFinal(thrown)) this.#refusal = error;
    for (const uri of listen.uris) {
      if (!this.#waiting.has(uri)) continue;
      this.#uris.delete(uri);
      this.#settle(uri, error);
    }
    if (!this.#current) this.#hasGap = true;
    void this.#retry();
  }

  async #retry(): Promise<void> {
    if (this.#closing.signal.aborted || this.#refusal) return;
    const delay = Math.min(FIRST_DELAY_MS * 2 ** this.#failures, LONGEST_DELAY_MS);
    this.#failures++;
    const pause = new AbortController();
    this.#pause = pause;
    await this.#wait(delay, pause.signal).catch(() => {});
    this.#pause = undefined;
    this.#renew();
  }

  #refuseUnhonoured({ uris }: Listen, honoured: unknown): void {
    if (!isObject(honoured)) return;
    const taken: readonly unknown[] = Array.isArray(honoured.resourceSubscriptions)
      ? honoured.resourceSubscriptions
      : [];
    for (const uri of uris) {
      if (taken.includes(uri) || !this.#waiting.has(uri)) continue;
      this.#uris.delete(uri);
      this.#settle(uri, this.#unhonoured(uri));
    }
  }

  #settle(uri: string, error?: HeddleError): void {
    const waiting = this.#waiting.get(uri);
    this.#waiting.delete(uri);
    if (error) waiting?.reject(error);
    else waiting?.resolve();
  }

  #failure({ abort }: Listen, thrown: unknown): HeddleError {
    const { server } = this.#options;
    if (!abort.signal.aborted) return thrown === undefined ? this.#gone() : toFailure(server, thrown);
    const message = `${server} did not acknowledge a subscription within ${ACKNOWLEDGE_MS} ms.`;
    return new UpstreamError('UPSTREAM_TIMEOUT', message, { delivered: 'maybe' });
  }

  #unhonoured(uri: string): HeddleError {
    const { server } = this.#options;
    return new UpstreamError('UPSTREAM_REFUSED', `${server} does not notify changes of ${uri}.`, { delivered: 'no' });
  }

  #gone(): HeddleError {
    const message = `${this.#options.server} has stopped notifying changes.`;
    return new UpstreamError('UPSTREAM_FAILED', message, { delivered: 'maybe' });
  }
}

/** Tests whether the server does not support `subscriptions/listen`: a retry would fail, too. */
function isFinal(thrown: unknown): boolean {
  if (thrown instanceof RpcError) return thrown.code === METHOD_NOT_FOUND;
  return HeddleError.is(thrown) && (thrown.details.status === 404 || thrown.details.status === 405);
}

const isSomething = (value: unknown): boolean => value === true || (Array.isArray(value) && value.length > 0);
const isSame = (one: ReadonlySet<string>, other: ReadonlySet<string>): boolean =>
  one.size === other.size && [...one].every((uri) => other.has(uri));
