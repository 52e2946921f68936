import { limiter } from '../../core/async/limiter.ts';
import { HeddleError } from '../../core/errors.ts';
import { ENDED_STATUSES } from '../../core/records/run.ts';
import { backoffMs, type Clock, realTimer, type Timer } from '../../core/time.ts';
import type { LeaseBook } from '../../store/lease-book.ts';
import type { RunJournal } from '../../store/run-journal.ts';
import { RunInterrupted } from '../run/durable.ts';
import type { AdvanceRun, RunEngine } from '../run/engine.ts';
import { type DbosRuntime, openDbosRuntime, type RunDriver, type RunPause } from './dbos-runtime.ts';
import { isExecutorAlive, keepAlive, watchForDeadExecutors } from './dbos-takeover.ts';
import { openRunLeases } from './run-leases.ts';

const MAX_RUNNING = 100;
const CHECKED_AT_ONCE = 8;
const RETRY_MS = 1_000;
const MAX_RETRY_MS = 15_000;
/** A process of a newer version may take the run over in the meantime. */
const TOO_NEW_MS = 60_000;
/** Calls in flight may end within this time when the process closes. */
const GRACE_MS = 5_000;

export interface DbosEngineParts {
  /** The URL of the store. DBOS has tables of its own in the same database. */
  readonly location: string;
  readonly journal: RunJournal;
  readonly leases: LeaseBook;
  readonly advance: AdvanceRun;
  /** Executes runs of other processes, too. */
  readonly pickUp: boolean;
  readonly clock?: Clock;
  readonly timer?: Timer;
  readonly random?: () => number;
}

const never = () => new Promise<never>(() => {});

/** Executes runs on many machines. DBOS queues, recovers and wakes them; the lease of a run decides who may write. */
export async function openDbosEngine(parts: DbosEngineParts): Promise<RunEngine> {
  const { journal, leases, pickUp, clock = Date.now, timer = realTimer } = parts;
  const opening = Promise.withResolvers<DbosRuntime>();
  const executions = openExecutions(parts, timer, (run) => signals.check(run));
  const wake = async (run: string) => {
    const runtime = await opening.promise;
    // Messages are stored: a run that waits here needs one.
    if (executions.woken.has(run)) return;
    if (executions.waiting.has(run)) executions.woken.add(run);
    const isKnown = await runtime.wake(run).catch((cause) => {
      executions.woken.delete(run);
      throw cause;
    });
    if (!isKnown && pickUp) await runtime.start(run, 'queue');
  };
  const signals = signalsOf(parts, { waiting: executions.waiting, wake, timer });
  const { heartbeat, runtime } = await openParts(parts, { timer, executions }).catch((cause) => {
    executions.leases.close();
    throw cause;
  });
  opening.resolve(runtime);
  const stopWatching = journal.watch(signals.checkAll);
  const takeover = pickUp ? watchForDeadExecutors({ runtime, leases, journal, clock, timer }) : undefined;
  return {
    wake,
    async start(run) {
      const isDetached = (await journal.get(run))?.detached === true;
      await runtime.start(run, isDetached ? 'queue' : 'here');
    },
    async resume(run) {
      const executor = await runtime.executorOf(run);
      if (executor === undefined) return runtime.start(run, 'here');
      if (executor !== 'queued' && (await isExecutorAlive(leases, executor))) throw owned(run);
      await runtime.handOver([run], 'here');
    },
    async close() {
      stopWatching();
      if (takeover) await inTime(takeover.stop(), timer);
      await executions.stop((run) => runtime.wake(run));
      const left = [...executions.driven];
      await inTime(runtime.handOver(left, 'queue'), timer);
      await inTime(heartbeat.stop(), timer);
      executions.leases.close();
      await runtime.close();
    },
  };
}

interface Opening {
  readonly timer: Timer;
  readonly executions: ReturnType<typeof openExecutions>;
}

/** Other processes must know that this one is alive before it gets a run. */
async function openParts({ location, leases }: DbosEngineParts, { timer, executions }: Opening) {
  const heartbeat = await keepAlive(leases, timer);
  try {
    // DBOS creates its tables when it is launched, and fails if two processes do so at once.
    const turn = await executions.leases.take('dbos-launch', new AbortController().signal);
    const runtime = await openDbosRuntime(location, executions.driver).finally(() => turn.release());
    return { heartbeat, runtime };
  } catch (cause) {
    await heartbeat.stop();
    throw cause;
  }
}

const owned = (run: string) => new HeddleError('RUN_OWNED', `Another process executes the run ${run}.`);

/** Waits for work that may hang while the store is away. */
const inTime = (work: Promise<unknown>, timer: Timer): Promise<void> =>
  new Promise((resolve) => {
    const cancel = timer(GRACE_MS, resolve);
    work
      .then(
        () => resolve(),
        () => resolve(),
      )
      .finally(cancel);
  });

/** Executes the runs that DBOS gives to this process. */
function openExecutions(
  { journal, leases: book, advance, pickUp, ...parts }: DbosEngineParts,
  timer: Timer,
  onWaiting: (run: string) => void,
) {
  const { clock = Date.now, random = Math.random } = parts;
  const leases = openRunLeases(book, timer);
  const limited = limiter(MAX_RUNNING);
  const stop = new AbortController();
  const interrupt = new AbortController();
  const running = new Set<Promise<unknown>>();
  /** Settles at the first moment in which no run waits; used after `stop`, when none begins to wait. */
  let drained = Promise.withResolvers<void>();
  const [driven, waiting, woken] = [new Set<string>(), new Set<string>(), new Set<string>()];

  async function advanceOnce(run: string): Promise<RunPause> {
    const { lease, lost, release } = await leases.take(`run:${run}`, stop.signal);
    try {
      const stored = await journal.get(run);
      if (!stored || ENDED_STATUSES.includes(stored.status)) return { ended: true };
      const signal = AbortSignal.any([lost, stop.signal, interrupt.signal]);
      const end = await limited(() => advance({ run: stored, lease }, signal));
      if (end.kind === 'ended') return { ended: true };
      if (end.kind === 'too-new') return { ended: false, wakeAt: clock() + TOO_NEW_MS };
      // DBOS refuses the end of this step if it has given a lost run to another process.
      if (end.kind === 'lost') return { ended: false, wakeAt: clock() };
      return { ended: false, ...(end.wakeAt !== undefined && { wakeAt: end.wakeAt }) };
    } finally {
      await release();
    }
  }
  const retryDelay = (attempt: number) =>
    new Promise<void>((resolve) => void timer(Math.min(backoffMs(RETRY_MS, attempt, random), MAX_RETRY_MS), resolve));
  async function advanceUntilPaused(run: string): Promise<RunPause> {
    for (let attempt = 1; !stop.signal.aborted; attempt++) {
      const work = advanceOnce(run).catch(() => undefined);
      running.add(work);
      const pause = await work.finally(() => running.delete(work));
      if (stop.signal.aborted) break;
      if (pause) return pause;
      await retryDelay(attempt);
    }
    return never();
  }
  const driver: RunDriver = {
    pickUp,
    advance(run) {
      driven.add(run);
      return advanceUntilPaused(run);
    },
    onLeft: (run) => void driven.delete(run),
    onWaiting(run) {
      driven.add(run);
      waiting.add(run);
      onWaiting(run);
      return () => {
        waiting.delete(run);
        woken.delete(run);
        if (waiting.size === 0) drained.resolve();
      };
    },
  };
  return {
    ...{ driver, leases, driven, waiting, woken },
    /** Suspends the runs that execute, and ends the waits of the others. */
    async stop(wake: (run: string) => Promise<unknown>) {
      stop.abort();
      await inTime(Promise.allSettled([...running]), timer);
      interrupt.abort(new RunInterrupted('Heddle was closed.'));
      if (waiting.size === 0) return;
      drained = Promise.withResolvers();
      const woken = Promise.allSettled([...waiting].map((run) => limited(() => wake(run))));
      await inTime(Promise.all([woken, drained.promise]), timer);
    },
  };
}

interface Waiting {
  readonly waiting: ReadonlySet<string>;
  readonly wake: (run: string) => Promise<void>;
  readonly timer: Timer;
}

/** Wakes runs of this process that have got a signal from a process without this engine. */
function signalsOf({ journal }: DbosEngineParts, { waiting, wake, timer }: Waiting) {
  const limited = limiter(CHECKED_AT_ONCE);
  const check = async (run: string) => {
    const stored = await journal.get(run);
    if (!stored || !waiting.has(run)) return;
    const signals = await journal.signals(run, stored.signalSeen);
    if (signals.length > 0) await wake(run);
  };
  let isChecking = false;
  let changed = false;
  const repeat = async () => {
    isChecking = true;
    while (changed) {
      changed = false;
      const checks = await Promise.allSettled([...waiting].map((run) => limited(() => check(run))));
      if (checks.some(({ status }) => status === 'rejected')) checkLater();
    }
    isChecking = false;
  };
  const checkAll = () => {
    changed = true;
    if (!isChecking) void repeat();
  };
  // The store may be restarting.
  const checkLater = () => void timer(RETRY_MS, checkAll);
  return {
    /** A signal may have come while no process executed the run. */
    check: (run: string) => void limited(() => check(run)).catch(checkLater),
    checkAll,
  };
}
