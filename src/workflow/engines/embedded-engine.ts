import { HeddleError } from '../../core/errors.ts';
import { ENDED_STATUSES, type RunOrigin } from '../../core/records/run.ts';
import { type Clock, realTimer, repeatEvery, type Timer } from '../../core/time.ts';
import type { RunJournal } from '../../store/run-journal.ts';
import type { ClaimedRun, RunOwner, RunQueue } from '../../store/run-queue.ts';
import { INTERPRETER } from '../journal/entries.ts';
import { RunInterrupted } from '../run/durable.ts';
import type { Advanced, AdvanceRun, RunEngine } from '../run/engine.ts';
import { requireOrigin } from '../run/run-origin.ts';

const MAX_RUNNING = 100;
const HEARTBEAT_MS = 20_000;
/** The delay after a failure of the store, so that a run that cannot be read does not use all time. */
const RETRY_MS = 1000;
/** The longest time between two claims of runs that other processes have left. A takeover has to begin within 15 s. */
const CLAIM_MS = 5_000;
// A timer with a delay of 25 days fires at once.
const LONGEST_TIMER_MS = 24 * 3_600_000;

export interface EmbeddedEngineOptions {
  readonly journal: RunJournal;
  readonly queue: RunQueue;
  readonly advance: AdvanceRun;
  readonly owner: RunOwner;
  readonly isAlive: (owner: RunOwner) => boolean;
  /** Executes runs of other processes, too. */
  readonly pickUp?: boolean;
  /** The configuration of this process. Runs of another one are not executed: projects of a user share the store. */
  readonly origin?: RunOrigin;
  readonly maxRunning?: number;
  readonly clock?: Clock;
  readonly timer?: Timer;
}

interface Running {
  readonly claimed: ClaimedRun;
  readonly abort: AbortController;
  readonly done: Promise<void>;
}

/** Opens an engine that executes runs in this process, over the queue of the embedded store. */
export const embeddedEngine = (options: EmbeddedEngineOptions): RunEngine => new EmbeddedEngine(options);

class EmbeddedEngine implements RunEngine {
  readonly #options: EmbeddedEngineOptions;
  readonly #clock: Clock;
  readonly #timer: Timer;
  readonly #running = new Map<string, Running>();
  /** Without `pickUp`: the open runs of this process that do not run now, with the time at which they are due. */
  readonly #waiting = new Map<string, number>();
  #claiming: Promise<unknown> = Promise.resolve();
  #cancelTimer = () => {};
  #stopHeartbeat: (() => void) | undefined;
  #unwatch: (() => void) | undefined;
  #claimingDue: Promise<void> | undefined;
  #isChanged = false;
  #isClosed = false;
  readonly #closing: Promise<void>;
  #close = () => {};

  constructor(options: EmbeddedEngineOptions) {
    this.#options = options;
    this.#clock = options.clock ?? Date.now;
    this.#timer = options.timer ?? realTimer;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#closing = promise;
    this.#close = resolve;
    if (!options.pickUp) return;
    this.#watch();
    this.#claimDue();
  }

  async start(id: string): Promise<void> {
    const { journal, pickUp } = this.#options;
    if (!pickUp && (await journal.get(id))?.detached) return;
    this.#wait(id, this.#clock());
    this.#watch();
    await this.#claim([id]);
  }

  async wake(id: string): Promise<void> {
    if (this.#waiting.has(id) || this.#options.pickUp) await this.#claim([id]);
  }

  async resume(id: string): Promise<void> {
    const { journal, maxRunning = MAX_RUNNING } = this.#options;
    const run = await journal.get(id);
    if (!run || ENDED_STATUSES.includes(run.status) || this.#running.has(id)) return;
    requireOrigin(run, this.#options.origin);
    if (run.interpreter > INTERPRETER) throw tooNew(id);
    if (this.#running.size >= maxRunning) return this.#wait(id, this.#clock()); // Claimed when another run ends.
    if ((await this.#claim([id])).length === 0 && !this.#running.has(id)) throw owned(id);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#close();
    this.#cancelTimer();
    this.#stopHeartbeat?.();
    this.#unwatch?.();
    await Promise.all([this.#claimingDue, this.#claiming]);
    for (const { abort } of this.#running.values()) abort.abort();
    await Promise.all([...this.#running.values()].map(({ done }) => done));
  }

  #watch(): void {
    this.#unwatch ??= this.#options.journal.watch((run) => {
      if (run === undefined || !this.#running.has(run)) this.#claimDue();
    });
    this.#stopHeartbeat ??= repeatEvery(this.#timer, HEARTBEAT_MS, () => void this.#heartbeat());
  }

  /** Claims runs and executes them. Claims of one engine follow each other. */
  #claim(only?: readonly string[]): Promise<readonly string[]> {
    const { queue, owner, origin, isAlive, maxRunning = MAX_RUNNING } = this.#options;
    const next = this.#claiming.then(async () => {
      const limit = maxRunning - this.#running.size;
      if (this.#isClosed || limit <= 0 || only?.length === 0) return [];
      const claimed = await queue.claim({
        ...{ owner, now: this.#clock(), limit, isAlive, origin, interpreter: INTERPRETER },
        ...(only && { only }),
      });
      for (const one of claimed) this.#execute(one);
      return claimed.map(({ run }) => run.id);
    });
    this.#claiming = next.catch(() => {});
    return next;
  }

  #execute(claimed: ClaimedRun): void {
    const { id } = claimed.run;
    this.#watch();
    this.#waiting.delete(id);
    const abort = new AbortController();
    const done = this.#options
      .advance(claimed, abort.signal)
      .catch((): Advanced => ({ kind: 'lost' }))
      .then((advanced) => this.#leave(claimed, advanced));
    this.#running.set(id, { claimed, abort, done });
  }

  /** Releases a run after its execution. */
  async #leave(claimed: ClaimedRun, advanced: Advanced): Promise<void> {
    const { id } = claimed.run;
    if (advanced.kind === 'lost') await this.#pause();
    const wakeAt = this.#wakeAtOf(advanced);
    await this.#release(claimed, wakeAt);
    this.#running.delete(id);
    if (advanced.kind === 'lost' || advanced.kind === 'suspended') this.#wait(id, wakeAt ?? Number.POSITIVE_INFINITY);
    this.#claimDue();
  }

  /** Returns the time of the next execution. After a failed one it is now: a run that has waited has no time of its own. */
  #wakeAtOf(advanced: Advanced): number | undefined {
    if (advanced.kind === 'lost') return this.#clock();
    return advanced.kind === 'suspended' ? advanced.wakeAt : undefined;
  }

  /** Notes a run to be executed later. With `pickUp` the queue alone has the time. */
  #wait(id: string, dueAt: number): void {
    if (!this.#options.pickUp) this.#waiting.set(id, dueAt);
  }

  /** Waits after a failure; not in an engine that closes. */
  async #pause(): Promise<void> {
    if (this.#isClosed) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = this.#timer(RETRY_MS, resolve);
    this.#closing.then(resolve);
    await promise;
    cancel();
  }

  /** Releases a lease. While the store refuses, it is tried again: no other process takes a run of a living one. */
  async #release(claimed: ClaimedRun, wakeAt: number | undefined): Promise<void> {
    try {
      await this.#options.queue.release(claimed, wakeAt);
    } catch {
      if (!this.#isClosed) this.#timer(RETRY_MS, () => void this.#release(claimed, wakeAt));
    }
  }

  async #heartbeat(): Promise<void> {
    const claimed = [...this.#running.values()].map((one) => one.claimed);
    if (claimed.length === 0) return;
    const lost = await this.#options.queue.heartbeat(claimed).catch(() => []); // The next heartbeat tries again.
    for (const id of lost) this.#running.get(id)?.abort.abort(new RunInterrupted());
  }

  /** Claims the runs that are due, and sets the timer for the next. */
  #claimDue(): void {
    this.#isChanged = true;
    this.#claimingDue ??= this.#claimWhileChanged();
  }

  async #claimWhileChanged(): Promise<void> {
    while (this.#isChanged && !this.#isClosed) {
      this.#isChanged = false;
      await this.#claimOnce().catch(() => this.#arm(this.#clock() + RETRY_MS));
    }
    this.#claimingDue = undefined;
  }

  async #claimOnce(): Promise<void> {
    const { queue, pickUp, origin } = this.#options;
    if (!pickUp) {
      await this.#claimOwn();
      this.#arm(Math.min(...this.#waiting.values()));
      return;
    }
    await this.#claim();
    this.#arm(Math.min((await queue.nextDue(origin)) ?? Number.POSITIVE_INFINITY, this.#clock() + CLAIM_MS));
  }

  /** Claims own runs that are due. One that another process has is tried again later, until it has ended. */
  async #claimOwn(): Promise<void> {
    const { journal, maxRunning = MAX_RUNNING } = this.#options;
    const due = await this.#dueOfOwn();
    const claimed = new Set(await this.#claim(due));
    if (this.#running.size >= maxRunning) return;
    for (const id of due.filter((one) => !claimed.has(one))) {
      const run = await journal.get(id);
      if (run && !ENDED_STATUSES.includes(run.status)) this.#waiting.set(id, this.#clock() + RETRY_MS);
      else this.#waiting.delete(id);
    }
  }

  /** Returns the own runs whose time has come, or that have a signal. */
  async #dueOfOwn(): Promise<readonly string[]> {
    const due: string[] = [];
    for (const [id, wakeAt] of this.#waiting) if (wakeAt <= this.#clock() || (await this.#hasSignal(id))) due.push(id);
    return due;
  }

  async #hasSignal(id: string): Promise<boolean> {
    const { journal } = this.#options;
    const run = await journal.get(id);
    if (run && !ENDED_STATUSES.includes(run.status)) return (await journal.signals(id, run.signalSeen)).length > 0;
    this.#waiting.delete(id);
    return false;
  }

  #arm(at: number): void {
    const { maxRunning = MAX_RUNNING } = this.#options;
    this.#cancelTimer();
    if (this.#isClosed || at === Number.POSITIVE_INFINITY || this.#running.size >= maxRunning) return;
    const delayMs = Math.min(Math.max(at - this.#clock(), 0), LONGEST_TIMER_MS);
    this.#cancelTimer = this.#timer(delayMs, () => this.#claimDue());
  }
}

const tooNew = (id: string) => new HeddleError('RUN_TOO_NEW', `A newer version of Heddle began the run ${id}.`);
const owned = (id: string) => new HeddleError('RUN_OWNED', `Another process executes the run ${id}.`);
