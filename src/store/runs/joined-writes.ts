import type { HeddleError } from '../../core/errors.ts';
import type { RunFence } from '../run-journal.ts';
import type { JournalRows } from './journal-rows.ts';

/** The writes of runs in a batch. The transaction first checks each fence. */
export interface JournalBatch {
  readonly fences: readonly RunFence[];
  readonly writes: readonly JournalRows[];
}

/** The rest of a batch of which nothing was written, because runs of it are lost. */
export interface JournalRefusal {
  /** The writes of the other runs. */
  readonly writes: readonly JournalRows[];
  /** Returns the error for a lost run; undefined for any other. */
  errorOf(fence: RunFence): HeddleError | undefined;
}

/** The writes of runs that join the batches of the write queue. */
export interface JoinedWrites {
  /** True if a queued write has to be committed at once. */
  readonly isUrgent: boolean;
  /** The number of queued writes. */
  readonly size: number;
  /** Takes all that are queued into the next batch. */
  take(): readonly JournalRows[];
  /** Resolves the taken ones. Returns how many were urgent. */
  committed(): number;
  /** Rejects the taken writes of lost runs. Returns undefined if a batch failed for another reason. */
  refuse(cause: unknown): JournalRefusal | undefined;
  /** Rejects the urgent ones of a failed batch, and keeps the others for the next. */
  keep(cause: unknown): void;
  close(): void;
}
