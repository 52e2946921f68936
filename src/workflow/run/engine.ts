import type { ClaimedRun } from '../../store/run-queue.ts';

/** Executes runs: in this process on the embedded store, or on many machines with a durable engine on Postgres. */
export interface RunEngine {
  /** Executes a run that this process has created. Resolves once it is taken over, not when it ends. */
  start(run: string): Promise<void>;
  /** Executes a run that has got a signal, if this process executes such runs. */
  wake(run: string): Promise<void>;
  /** Executes a run in this process. Throws RUN_OWNED if a living process owns it, RUN_TOO_NEW, and USAGE_INVALID for another origin. */
  resume(run: string): Promise<void>;
  /** Suspends what can be suspended, aborts the rest and releases the leases. */
  close(): Promise<void>;
}

/**
 * The end of one execution. `ended` and `suspended` are durable; the caller then releases the lease. `lost`: another
 * process owns the run, or the journal refuses writes; nothing more is written. `too-new`: nothing was touched.
 */
export type Advanced =
  | { readonly kind: 'ended' }
  | { readonly kind: 'suspended'; readonly wakeAt?: number }
  | { readonly kind: 'lost' }
  | { readonly kind: 'too-new' };

/**
 * Executes a claimed run until it ends or every branch waits. An abort of `signal` begins no more calls, and suspends
 * the run once those in flight have ended; with the reason `RunInterrupted` it aborts them and writes nothing more.
 */
export type AdvanceRun = (claimed: ClaimedRun, signal: AbortSignal) => Promise<Advanced>;
