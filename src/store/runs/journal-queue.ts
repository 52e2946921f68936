import { HeddleError } from '../../core/errors.ts';
import { type Clock, steadyClock } from '../../core/time.ts';
import type { WriteQueue } from '../audit/write-queue.ts';
import type { JoinedWrites, JournalRefusal } from './joined-writes.ts';
import type { JournalRows } from './journal-rows.ts';
import { StaleFences } from './stale-fences.ts';

// Beyond these, `ready` waits.
const MANY_WRITES = 1_000;
const MUCH_TEXT = 8 * 1024 * 1024;
/** The most writes that are kept while the store cannot be written. */
const KEPT_WRITES = 10_000;

/** A store that refuses the journal for so long must not stop the audit log as well. */
const MAX_FAILING_MS = 30_000;

const NONE: readonly JournalRows[] = [];

interface QueuedWrite {
  readonly rows: JournalRows;
  readonly isUrgent: boolean;
  readonly waiting: PromiseWithResolvers<void>;
}

/** The writes of runs that wait for the next batch. They are committed in the order in which they were queued. */
export class JournalQueue implements JoinedWrites {
  readonly #batches: ReturnType<WriteQueue['join']>;
  #queued: QueuedWrite[] = [];
  #taken: readonly QueuedWrite[] = [];
  /** The text of queued and taken writes. */
  #text = 0;
  #ready: PromiseWithResolvers<void> | undefined;
  /** The time of the first failed batch since the last commit. */
  #failingSince: number | undefined;
  #isClosed = false;
  readonly #clock: Clock;
  isUrgent = false;

  constructor(queue: WriteQueue, clock: Clock = steadyClock) {
    this.#clock = clock;
    this.#batches = queue.join(this);
  }

  get size(): number {
    return this.#queued.length;
  }

  append(rows: JournalRows, urgency: 'now' | 'soon'): Promise<void> {
    if (this.#isClosed) return Promise.reject(unwritten('The store is closed'));
    const waiting = Promise.withResolvers<void>();
    const isUrgent = urgency === 'now';
    this.#queued.push({ rows, isUrgent, waiting });
    this.#text += rows.size;
    if (isUrgent || this.#isFull()) this.#hurry();
    else this.#batches.soon();
    return waiting.promise;
  }

  ready(): Promise<void> {
    if (!this.#isFull() || this.#isClosed) return Promise.resolve();
    this.#ready ??= Promise.withResolvers<void>();
    return this.#ready.promise;
  }

  take(): readonly JournalRows[] {
    this.isUrgent = false;
    if (this.#queued.length === 0) return NONE;
    this.#taken = this.#queued;
    this.#queued = [];
    return this.#taken.map(({ rows }) => rows);
  }

  committed(): number {
    const taken = this.#taken;
    this.#taken = [];
    this.#failingSince = undefined;
    let urgent = 0;
    for (const { rows, isUrgent, waiting } of taken) {
      this.#text -= rows.size;
      if (isUrgent) urgent++;
      waiting.resolve();
    }
    this.#reportReady();
    return urgent;
  }

  refuse(cause: unknown): JournalRefusal | undefined {
    if (!(cause instanceof StaleFences)) return undefined;
    this.#taken = this.#taken.filter((write) => {
      const error = cause.errorOf(write.rows.fence);
      if (error) this.#reject(write, error);
      return !error;
    });
    this.#reportReady();
    return { writes: this.#taken.map(({ rows }) => rows), errorOf: (fence) => cause.errorOf(fence) };
  }

  // A rejected write takes the later ones of its run along: the history of a run has no gap.
  keep(cause: unknown): void {
    const error = unwritten('The journal of runs could not be written', cause);
    this.#failingSince ??= this.#clock();
    const room = this.#clock() - this.#failingSince < MAX_FAILING_MS ? KEPT_WRITES : 0;
    const broken = new Set<string>();
    this.#queued = [...this.#taken, ...this.#queued].filter((write, at) => {
      const { run } = write.rows.fence;
      const isFailed = at < this.#taken.length && (write.isUrgent || at >= room);
      if (!isFailed && !broken.has(run)) return true;
      broken.add(run);
      this.#reject(write, error);
      return false;
    });
    this.#taken = [];
    this.#reportReady();
  }

  close(): void {
    this.#isClosed = true;
    for (const write of this.#queued) this.#reject(write, unwritten('The store was closed'));
    this.#queued = [];
    this.#ready?.resolve();
  }

  #isFull(): boolean {
    return this.#queued.length + this.#taken.length >= MANY_WRITES || this.#text >= MUCH_TEXT;
  }

  #hurry(): void {
    this.isUrgent = true;
    this.#batches.now();
  }

  #reject({ rows, waiting }: QueuedWrite, error: HeddleError): void {
    this.#text -= rows.size;
    waiting.reject(error);
  }

  #reportReady(): void {
    if (this.#isFull()) return;
    this.#ready?.resolve();
    this.#ready = undefined;
  }
}

function unwritten(what: string, cause?: unknown): HeddleError {
  const why = cause instanceof Error ? `: ${cause.message}` : '';
  return new HeddleError('STORE_UNAVAILABLE', `${what}${why}.`, { cause });
}
