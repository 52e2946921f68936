import type { RunOrigin } from '../core/records/run.ts';
import type { Lease } from './lease-book.ts';
import type { StoredRun } from './run-journal.ts';

/** A process that executes runs. Pid and start time identify it on one machine, also after the pid is used again. */
export interface RunOwner {
  readonly id: string;
  readonly pid: number;
  readonly startedAt: string;
}

/** A run that this process owns. The epoch of the lease is its fencing number. */
export interface ClaimedRun {
  readonly run: StoredRun;
  readonly lease: Lease;
}

export interface ClaimOptions {
  readonly owner: RunOwner;
  readonly now: number;
  readonly limit: number;
  /** Only these runs, due or not. */
  readonly only?: readonly string[];
  /** Leaves out the runs of newer interpreters. */
  readonly interpreter?: number;
  /** Leaves out the runs of other origins. Runs without an origin belong to every process. */
  readonly origin?: RunOrigin | undefined;
  /** Tests whether a process is alive. A live owner keeps its runs, a dead one loses them at once. */
  readonly isAlive: (owner: RunOwner) => boolean;
}

/** The runs that wait for a process, on the embedded store. On Postgres the durable engine has its own queue. */
export interface RunQueue {
  /** Claims runs that are due, or whose owner is dead, the oldest first. */
  claim(options: ClaimOptions): Promise<readonly ClaimedRun[]>;
  /** Extends the leases of claimed runs. Returns those that are lost. */
  heartbeat(claimed: readonly ClaimedRun[]): Promise<readonly string[]>;
  /** Ends the claim of a run. It is due at `wakeAt`, by a signal, or never; one that is `running` without a time at once. */
  release(claimed: ClaimedRun, wakeAt?: number): Promise<void>;
  /** Returns the open runs that a claim would get now: those that are due, or whose owner is dead. */
  unowned(options: Pick<ClaimOptions, 'now' | 'limit' | 'isAlive'>): Promise<readonly string[]>;
  /** Returns the time at which the next run of this origin is due; undefined if none waits for a time. */
  nextDue(origin?: RunOrigin): Promise<number | undefined>;
}
