import type { Writable } from 'node:stream';
import { SETTING_DEFAULTS } from '../config/schema/defaults.ts';
import type { Settings } from '../config/schema/schema.ts';
import { quoteName } from '../core/text/visible-text.ts';
import { realTimer, repeatEvery, type Timer } from '../core/time.ts';

export type UnsentLimits = Settings['gateway']['unsent'];

export interface UnsentOptions {
  readonly limits?: UnsentLimits | undefined;
  readonly timer?: Timer | undefined;
  /** Receives one sentence for each connection that is closed. */
  readonly report?: ((message: string) => void) | undefined;
  /** Closes a connection; destroys its stream if absent. */
  readonly close?: (stream: Writable) => void;
}

/** A connection with unsent bytes. */
interface Unsent {
  readonly stream: Writable;
  callerId: string | undefined;
  /** Bytes of responses that wait for an earlier one. The client cannot take them yet. */
  held: number;
  /** All unsent bytes when they were last counted. */
  bytes: number;
  /** The size of a first message over the limit, which a client that reads it gets. */
  readonly exempt: number;
  /** Bytes that the system had taken from the stream when that was last checked. */
  taken: number;
  /** Checks since the system last took a byte. */
  idleChecks: number;
}

const LONG_CHARS = 64 * 1024;
const CHECKS = 10;
/** A client that took no byte between two checks does not read. One check may come right after a write. */
const IDLE_CHECKS = 2;
/** Over its limit by this factor, a caller loses connections before the next check. */
const AT_ONCE = 1.5;
const MAX_NAME_CHARS = 100;

/**
 * Counts the bytes that clients have not taken yet, over every transport. Over a limit it closes the connection that has
 * taken no byte for the longest time. A caller over its limit loses only connections that it does not read; at 1.5 times
 * the limit it loses any. A connection without unsent bytes costs nothing here.
 */
export class UnsentBytes {
  readonly #limits: UnsentLimits;
  readonly #timer: Timer;
  readonly #report: (message: string) => void;
  readonly #close: (stream: Writable) => void;
  /** In the order in which the system last took a byte of them. */
  readonly #connections = new Map<Writable, Unsent>();
  readonly #ofCallers = new Map<string | undefined, number>();
  #total = 0;
  #stopChecks: (() => void) | undefined;

  constructor({ limits, timer, report, close }: UnsentOptions = {}) {
    this.#limits = limits ?? SETTING_DEFAULTS.gateway.unsent;
    this.#timer = timer ?? realTimer;
    this.#report = report ?? (() => {});
    this.#close = close ?? ((stream) => void stream.destroy());
  }

  /** The unsent bytes of all connections. */
  get total(): number {
    this.#recount();
    return this.#total;
  }

  /** Counts a connection after a write. `held` is the change of the bytes that wait for an earlier response. */
  count(stream: Writable, callerId: string | undefined, held = 0): void {
    const unsent = this.#connections.get(stream) ?? this.#add(stream, callerId, held);
    if (!unsent) return;
    // A refused request on the connection of a caller has none.
    if (callerId !== undefined && unsent.callerId !== callerId) {
      this.#change(unsent, 0);
      unsent.callerId = callerId;
    }
    unsent.held += held;
    this.#change(unsent, bytesOf(unsent));
    if (unsent.bytes === 0) this.#drop(unsent);
    else this.#enforce(unsent);
  }

  /** Stops counting. */
  close(): void {
    for (const unsent of [...this.#connections.values()]) this.#drop(unsent);
  }

  #add(stream: Writable, callerId: string | undefined, held: number): Unsent | undefined {
    const bytes = stream.destroyed ? 0 : stream.writableLength + held;
    if (bytes <= 0) return undefined;
    const exempt = bytes > this.#limits.connectionBytes ? bytes : 0;
    const unsent = { stream, callerId, held: 0, bytes: 0, exempt, taken: takenFrom(stream), idleChecks: 0 };
    this.#connections.set(stream, unsent);
    this.#stopChecks ??= repeatEvery(this.#timer, this.#limits.timeoutMs / CHECKS, () => this.#check());
    return unsent;
  }

  #enforce(unsent: Unsent): void {
    const { connectionBytes, callerBytes, totalBytes } = this.#limits;
    const { callerId } = unsent;
    if (unsent.bytes - unsent.exempt > connectionBytes) this.#disconnect(unsent, 'connectionBytes');
    if (this.#ofCaller(callerId) > callerBytes * AT_ONCE) {
      this.#recount();
      while (this.#ofCaller(callerId) > callerBytes * AT_ONCE)
        this.#disconnect(this.#longestIdle(callerId), 'callerBytes');
    }
    if (this.#total > totalBytes) {
      this.#recount();
      while (this.#total > totalBytes) this.#disconnect(this.#longestIdle(this.#largestCaller()), 'totalBytes');
    }
  }

  /** Counts all connections again: they take bytes without a report. */
  #recount(): void {
    for (const unsent of [...this.#connections.values()]) {
      this.#change(unsent, bytesOf(unsent));
      if (unsent.bytes === 0) this.#drop(unsent);
      const taken = takenFrom(unsent.stream);
      if (unsent.bytes > 0 && taken > unsent.taken) {
        unsent.idleChecks = 0;
        this.#connections.delete(unsent.stream);
        this.#connections.set(unsent.stream, unsent);
      }
      unsent.taken = taken;
    }
  }

  #check(): void {
    this.#recount();
    for (const unsent of [...this.#connections.values()]) {
      if (unsent.stream.writableLength === 0)
        unsent.idleChecks = 0; // The client has taken all that it could.
      else if (++unsent.idleChecks > CHECKS) this.#disconnect(unsent, 'timeoutMs');
      else if (unsent.idleChecks >= IDLE_CHECKS && this.#ofCaller(unsent.callerId) > this.#limits.callerBytes)
        this.#disconnect(unsent, 'callerBytes');
    }
  }

  #disconnect(unsent: Unsent | undefined, limit: keyof UnsentLimits): void {
    if (!unsent) return;
    const { stream, callerId, bytes } = unsent;
    this.#drop(unsent);
    this.#close(stream);
    const who = callerId === undefined ? 'a client without a caller' : quoteName(callerId.slice(0, MAX_NAME_CHARS));
    this.#report(`Closed a connection of ${who} with ${bytes} unread bytes: ${REASONS[limit](this.#limits)}`);
  }

  #drop(unsent: Unsent): void {
    this.#change(unsent, 0);
    this.#connections.delete(unsent.stream);
    if (this.#connections.size > 0) return;
    this.#stopChecks?.();
    this.#stopChecks = undefined;
  }

  #change(unsent: Unsent, bytes: number): void {
    const ofCaller = this.#ofCaller(unsent.callerId) + bytes - unsent.bytes;
    if (ofCaller === 0) this.#ofCallers.delete(unsent.callerId);
    else this.#ofCallers.set(unsent.callerId, ofCaller);
    this.#total += bytes - unsent.bytes;
    unsent.bytes = bytes;
  }

  #ofCaller(callerId: string | undefined): number {
    return this.#ofCallers.get(callerId) ?? 0;
  }

  #longestIdle(callerId: string | undefined): Unsent | undefined {
    for (const unsent of this.#connections.values()) if (unsent.callerId === callerId) return unsent;
    return undefined;
  }

  #largestCaller(): string | undefined {
    return [...this.#ofCallers].reduce((largest, one) => (one[1] > largest[1] ? one : largest), [undefined, 0])[0];
  }
}

const REASONS: Readonly<Record<keyof UnsentLimits, (limits: UnsentLimits) => string>> = {
  connectionBytes: ({ connectionBytes }) =>
    `gateway.unsent.connectionBytes allows ${connectionBytes} for one connection.`,
  callerBytes: ({ callerBytes }) => `gateway.unsent.callerBytes allows ${callerBytes} for one caller.`,
  totalBytes: ({ totalBytes }) => `gateway.unsent.totalBytes allows ${totalBytes} in all.`,
  timeoutMs: ({ timeoutMs }) => `it took no byte for ${timeoutMs} ms (gateway.unsent.timeoutMs).`,
};

const bytesOf = ({ stream, held }: Unsent): number => (stream.destroyed ? 0 : stream.writableLength + held);

/**
 * Returns the number of bytes that the system has taken from a stream. `writableLength` stays the same until a whole chunk
 * is taken. The handle counts each byte; Node's own socket timeout uses it, too.
 */
function takenFrom(stream: Writable): number {
  const { _handle: handle } = stream as { readonly _handle?: Partial<Handle> | null };
  const { bytesWritten, writeQueueSize } = handle ?? {};
  return bytesWritten === undefined || writeQueueSize === undefined
    ? -stream.writableLength
    : bytesWritten - writeQueueSize;
}

/**
 * Encodes a long text. The system would keep a copy beside an unsent text, and the garbage collector does not know the size
 * of such copies.
 */
export const encodeLong = <T>(chunk: T): T | Buffer =>
  typeof chunk === 'string' && chunk.length > LONG_CHARS ? Buffer.from(chunk) : chunk;

interface Handle {
  readonly bytesWritten: number;
  readonly writeQueueSize: number;
}
