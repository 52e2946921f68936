import type { JsonObject } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import type { RunResolution, RunStatus } from '../../core/records/run.ts';
import { realTimer } from '../../core/time.ts';
import type { RunSignal, StoredRun } from '../../store/run-journal.ts';
import { eventKeys } from '../journal/events.ts';
import type { JournalDurable } from '../journal/journal-durable.ts';
import { RunInterrupted, type RunStop } from './durable.ts';
import type { Advanced } from './engine.ts';
import { type RunEnd, toRunEnd } from './run-end.ts';
import type { Executed, RunParts } from './run-parts.ts';

/** A run whose next wake-up is closer than this stays in the process. */
const SHORT_MS = 2000;
/** The time that calls in flight have to end when the process closes. */
const DRAIN_MS = 5000;
/** The delay before signals are read again that the store could not read. */
const RETRY_MS = 1000;
/** The time that aborted calls have to end when the run has ended. */
const GRACE_MS = 10_000;

/** An execution of a run: handles its signals, and decides when it is over. */
export class RunExecution {
  readonly #run: StoredRun;
  readonly #parts: RunParts;
  readonly #done = Promise.withResolvers<Advanced>();
  #opened!: JournalDurable;
  /** The id of the newest signal that was handled. */
  #seen: number;
  #isEnding = false;
  #isDraining = false;
  #checking: Promise<void> | undefined;
  #hasChanged = false;

  constructor(run: StoredRun, parts: RunParts) {
    this.#run = run;
    this.#parts = parts;
    this.#seen = run.signalSeen;
  }

  get done(): Promise<Advanced> {
    return this.#done.promise;
  }

  /** Handles the signals so far and begins to listen. Returns the function that ends it. */
  async begin(opened: JournalDurable, signal: AbortSignal): Promise<() => void> {
    this.#opened = opened;
    const { timeoutAt } = this.#run;
    const { timer = realTimer } = this.#parts;
    const unwatch = this.#parts.journal.watch((run = this.#run.id) => {
      if (run === this.#run.id) this.#onChange();
    });
    await this.#checkSignals().catch((cause) => {
      unwatch();
      throw cause;
    });
    if (timeoutAt !== undefined)
      void opened.sleeps.start({ until: timeoutAt }).elapsed.then(() => opened.stop(TIMED_OUT, 'heddle'));
    let cancelDrain = () => {};
    const onAbort = () => {
      if (signal.reason instanceof RunInterrupted) return this.onLost();
      this.#isDraining = true;
      opened.drain();
      opened.activity.recheck();
      cancelDrain = timer(DRAIN_MS, () => this.onLost());
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    return () => {
      unwatch();
      cancelDrain();
      signal.removeEventListener('abort', onAbort);
    };
  }

  /** Executes the definition, and ends the run with its output or its failure. */
  async interpret(execute: () => Promise<Executed>): Promise<void> {
    try {
      await this.end({ status: 'succeeded', ...(await execute()) });
    } catch (thrown) {
      if (!(thrown instanceof RunInterrupted)) await this.end(toRunEnd(thrown));
    }
  }

  /** Ends the run. Its end is durable before the parent or the caller knows it. */
  async end({ status, error, output, stepsExecuted }: RunEnd): Promise<void> {
    const { activity, writer } = this.#opened;
    const { journal, clock = Date.now } = this.#parts;
    const { id, parent } = this.#run;
    if (this.#isEnding) return;
    this.#isEnding = true;
    await activity.quiet(AbortSignal.timeout(GRACE_MS));
    writer.add('ended', '', { status, stepsExecuted, ...(error && { error }) });
    const stored = output === undefined ? undefined : writer.store(output, 0);
    const change = { status, endedAt: clock(), signalSeen: this.#seen, ...(error && { error }) };
    await this.#leave({ kind: 'ended' }, async () => {
      await writer.commit({ ...change, ...(stored && 'sha256' in stored && { output: stored.sha256 }) });
      if (parent) await journal.signal(parent.run, { kind: 'child-ended', by: 'heddle', detail: { run: id } });
    });
  }

  /** Suspends the run if all branches wait, and not only for a moment. */
  onQuiet(): void {
    const { activity, durable, doubts, writer } = this.#opened;
    const { clock = Date.now } = this.#parts;
    const { count, wakeAt: waited } = activity.waits();
    if (this.#isEnding || count === 0) return;
    const timeoutAt = durable.cancelled.aborted ? undefined : this.#run.timeoutAt;
    const times = [waited, timeoutAt].filter((at) => at !== undefined);
    const wakeAt = times.length === 0 ? undefined : Math.min(...times);
    if (!this.#isDraining && wakeAt !== undefined && wakeAt - clock() < SHORT_MS) return;
    this.#isEnding = true;
    activity.interrupt();
    const status: RunStatus = doubts.size > 0 ? 'in_doubt' : 'waiting';
    const due = wakeAt === undefined ? {} : { wakeAt };
    void this.#leave({ kind: 'suspended', ...due }, () => writer.commit({ status, signalSeen: this.#seen, ...due }));
  }

  /** Ends the execution without a further write. */
  onLost(): void {
    this.#isEnding = true;
    this.#opened.abandon();
    this.#done.resolve({ kind: 'lost' });
  }

  /** Makes the last write, then ends the execution. */
  async #leave(advanced: Advanced, write: () => Promise<void>): Promise<void> {
    try {
      await this.#opened.parentTold();
      await write();
      this.#done.resolve(advanced);
    } catch {
      this.#done.resolve({ kind: 'lost' });
    }
    this.#opened.abandon();
  }

  #onChange(): void {
    this.#hasChanged = true;
    this.#checking ??= this.#checkAll();
  }

  async #checkAll(): Promise<void> {
    const { timer = realTimer } = this.#parts;
    while (this.#hasChanged && !this.#isEnding) {
      this.#hasChanged = false;
      try {
        await this.#checkSignals();
      } catch (thrown) {
        if (HeddleError.is(thrown) && thrown.code === 'RUN_LEASE_LOST') this.onLost();
        else timer(RETRY_MS, () => this.#onChange());
      }
    }
    this.#checking = undefined;
  }

  /** Handles the signals that have arrived since the last time. */
  async #checkSignals(): Promise<void> {
    const { writer, doubts } = this.#opened;
    const signals = await this.#parts.journal.signals(this.#run.id, this.#seen);
    if (signals.length === 0 || this.#isEnding) return;
    for (const signal of signals) {
      this.#handle(signal);
      this.#seen = signal.id;
    }
    const status: RunStatus = doubts.size > 0 ? 'in_doubt' : 'running';
    await writer.commit({ signalSeen: this.#seen, status });
  }

  #handle({ kind, by, detail }: RunSignal): void {
    const { events, doubts, children } = this.#opened;
    if (kind === 'cancel') this.#opened.stop(cancelled(by, detail), by);
    else if (kind === 'resolve') doubts.resolve(detail as unknown as RunResolution, by);
    else if (kind === 'decided') events.report(eventKeys.approval(String(detail.approval)));
    else if (kind === 'child-ended') events.report(eventKeys.child(String(detail.run)));
    else if (kind === 'child-waiting') children.onWaiting(true, detail);
    else if (kind === 'child-continued') children.onWaiting(false, detail);
    else events.report();
  }
}

function cancelled(by: string, { reason }: JsonObject): RunStop {
  const message = `${by} cancelled the run${typeof reason === 'string' ? `: ${reason}` : '.'}`;
  return { status: 'cancelled', error: { code: 'CANCELLED', message } };
}

const TIMED_OUT: RunStop = {
  status: 'failed',
  error: {
    code: 'TIMEOUT',
    message: 'The run did not end within its timeout.',
    fix: 'Give it more time, or find out why it takes longer.',
  },
};
