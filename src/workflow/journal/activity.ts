import { HeddleError } from '../../core/errors.ts';
import { RunInterrupted } from '../run/durable.ts';

const STORE_FAILURES: readonly string[] = ['RUN_LEASE_LOST', 'STORE_UNAVAILABLE', 'AUDIT_UNAVAILABLE'];

/** Tests whether the store has refused an operation. Such an error is not the end of a step: a later execution goes on. */
export const isStoreFailure = (thrown: unknown): boolean =>
  HeddleError.is(thrown) && STORE_FAILURES.includes(thrown.code);

/**
 * Counts the operations of one execution that work. When none does, `onQuiet` is called: those that are open wait, and
 * the run can be suspended. The interpreter awaits operations only, so one turn later it has begun all that follows.
 */
export class Activity {
  readonly #onQuiet: () => void;
  readonly #onLost: () => void;
  readonly #waits = new Set<() => number | undefined>();
  readonly #open = new Set<(reason: RunInterrupted) => void>();
  readonly #idle = new Set<() => void>();
  #working = 0;
  #isScheduled = false;
  #isInterrupted = false;

  /** `onLost` is called when the store has refused an operation. */
  constructor(onQuiet: () => void, onLost: () => void) {
    this.#onQuiet = onQuiet;
    this.#onLost = onLost;
  }

  get isInterrupted(): boolean {
    return this.#isInterrupted;
  }

  /** Marks work until the returned function is called. */
  begin(): () => void {
    let isOver = false;
    this.#working++;
    return () => {
      if (!isOver) this.#ended();
      isOver = true;
    };
  }

  /** Runs an operation. Rejects with RunInterrupted when the execution is interrupted. */
  async operate<T>(task: () => Promise<T>): Promise<T> {
    if (this.#isInterrupted) throw new RunInterrupted();
    const end = this.begin();
    try {
      return await new Promise((resolve, reject) => {
        this.#open.add(reject);
        task()
          .catch((thrown) => {
            if (isStoreFailure(thrown)) this.#onLost();
            throw thrown;
          })
          .then(resolve, reject)
          .finally(() => this.#open.delete(reject));
      });
    } finally {
      end();
    }
  }

  /** Waits inside of an operation for an event from outside. `wakeAt` returns the time at which it ends by itself. */
  async wait<T>(event: Promise<T>, wakeAt: () => number | undefined): Promise<T> {
    this.#waits.add(wakeAt);
    this.#ended();
    try {
      const arrived = await event;
      // An abort that follows an interruption must not be journaled as the end of the operation.
      if (this.#isInterrupted) throw new RunInterrupted();
      return arrived;
    } finally {
      this.#working++;
      this.#waits.delete(wakeAt);
    }
  }

  /** Returns the number of waits of open operations, and the earliest time at which one ends. */
  waits(): { readonly count: number; readonly wakeAt: number | undefined } {
    const times = [...this.#waits].flatMap((wakeAt) => wakeAt() ?? []);
    return { count: this.#waits.size, wakeAt: times.length === 0 ? undefined : Math.min(...times) };
  }

  /** Resolves when nothing works, or the signal aborts. */
  async quiet(signal: AbortSignal): Promise<void> {
    if (this.#working === 0 || signal.aborted || this.#isInterrupted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#idle.add(resolve);
    signal.addEventListener('abort', () => resolve(), { once: true });
    await promise;
    this.#idle.delete(resolve);
  }

  /** Calls `onQuiet` in the next turn if nothing works. */
  recheck(): void {
    if (this.#working > 0 || this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#check());
  }

  /** Rejects every open operation, and each later one. */
  interrupt(): void {
    this.#isInterrupted = true;
    const reason = new RunInterrupted('This process does not execute the run any more.');
    for (const reject of this.#open) reject(reason);
    for (const resolve of this.#idle) resolve();
  }

  #ended(): void {
    this.#working--;
    this.recheck();
  }

  #check(): void {
    this.#isScheduled = false;
    if (this.#working > 0 || this.#isInterrupted) return;
    for (const resolve of this.#idle) resolve();
    this.#onQuiet();
  }
}
