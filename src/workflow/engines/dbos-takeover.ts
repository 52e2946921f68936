import { type Clock, repeatEvery, type Timer } from '../../core/time.ts';
import type { Lease, LeaseBook } from '../../store/lease-book.ts';
import type { RunJournal } from '../../store/run-journal.ts';
import { type DbosRuntime, EXECUTOR } from './dbos-runtime.ts';
import { LEASE_MS } from './run-leases.ts';

const SWEEP_MS = 2_000;
/** A run is stored before DBOS knows it. Its process has this long to start it. */
const START_MS = 5_000;
const CHECKED_RUNS = 200;
/** The journal has the history, so the rows of DBOS go soon after the end of a run. */
const KEPT_MS = 3_600_000;
const SWEEPS_PER_PRUNE = 300;

const leaseOf = (executor: string) => `dbos-executor:${executor}`;

/** Work that is repeated until it is stopped. */
interface Repeated {
  /** Waits for the repetition that runs now. */
  stop(): Promise<void>;
}

/** Keeps the lease that shows other processes that this one is alive. The first heartbeat is complete on return. */
export async function keepAlive(leases: LeaseBook, timer: Timer): Promise<Repeated> {
  const name = leaseOf(EXECUTOR);
  let lease: Lease | undefined;
  const beat = async () => {
    const isKept = lease !== undefined && (await leases.renew(lease, LEASE_MS));
    // Another Heddle of this process may hold it: they are one executor.
    if (!isKept) lease = await leases.acquire(name, LEASE_MS);
  };
  await beat();
  const stop = repeatEvery(timer, LEASE_MS / 3, () => void beat().catch(() => undefined));
  return {
    async stop() {
      stop();
      if (lease) await leases.release(lease);
    },
  };
}

interface TakeoverParts {
  readonly runtime: DbosRuntime;
  readonly leases: LeaseBook;
  readonly journal: RunJournal;
  readonly clock: Clock;
  readonly timer: Timer;
}

/** Tests whether a process still sends heartbeats. */
export const isExecutorAlive = (leases: LeaseBook, executor: string): Promise<boolean> =>
  executor === EXECUTOR ? Promise.resolve(true) : leases.isHeld(leaseOf(executor));

/** Looks for runs of dead processes every 2 s and puts them on the queue. Only processes with runs do this. */
export function watchForDeadExecutors({ runtime, leases, journal, clock, timer }: TakeoverParts): Repeated {
  let sweeps = 0;
  let sweeping: Promise<void> | undefined;

  async function takeOverDead(): Promise<void> {
    for (const executor of await runtime.executors()) {
      if (!(await isExecutorAlive(leases, executor))) await runtime.takeOver(executor);
    }
  }
  /** A process can die between the creation of a run and its start. */
  async function startLost(): Promise<void> {
    const due = await journal.unleased(clock(), CHECKED_RUNS);
    const old = due.filter(({ startedAt }) => startedAt < clock() - START_MS).map(({ id }) => id);
    if (old.length === 0) return;
    for (const run of await runtime.restartLost(old)) await runtime.start(run, 'queue');
  }
  async function sweep(): Promise<void> {
    // One process at a time: a second one would hand over runs that have just found a new executor.
    const turn = await leases.acquire('dbos-takeover', SWEEP_MS * 5);
    if (!turn) return;
    try {
      await takeOverDead();
      await startLost();
      if (sweeps++ % SWEEPS_PER_PRUNE === 0) await runtime.prune(clock() - KEPT_MS);
    } finally {
      await leases.release(turn);
    }
  }
  const stop = repeatEvery(timer, SWEEP_MS, () => {
    // The store may be restarting. The next sweep tries again.
    sweeping ??= sweep()
      .catch(() => undefined)
      .finally(() => {
        sweeping = undefined;
      });
  });
  return {
    async stop() {
      stop();
      await sweeping;
    },
  };
}
