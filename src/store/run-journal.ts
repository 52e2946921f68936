import type { Json, JsonObject } from '../core/call.ts';
import type { Run, RunOrigin, RunQuery } from '../core/records/run.ts';

/** The fencing number of a run: the epoch of the lease `run:<id>`. A write with an older epoch is refused. */
export interface RunFence {
  readonly run: string;
  readonly epoch: number;
}

/** Returns the name of the lease of a run. */
export const runLease = (run: string): string => `run:${run}`;

/** Returns the text by which origins are stored and compared. */
export const originText = ({ folder, file, program }: RunOrigin): string => JSON.stringify({ folder, file, program });

/** A run as the store keeps it. */
export interface StoredRun extends Run {
  /** SHA-256 of the input's JSON text, a value of this journal. The definition is one, too, under `digest`. */
  readonly input: string;
  /** SHA-256 of the output's JSON text. */
  readonly output?: string;
  /** The id of the newest signal that an owner has handled. */
  readonly signalSeen: number;
  /** The id of the call that began it: a repeated call finds its run. */
  readonly callId?: string;
  readonly timeoutAt?: number;
  /** The `traceparent` of its calls, if the call that began it is below another one. */
  readonly traceparent?: string;
  readonly detached?: true;
  /** The digest of the call that began it, if that call has ended before the run: an equal call finds the run. */
  readonly left?: string;
}

/** An entry of the journal, written by the owner of the run. */
export interface JournalEntry {
  /** Counts from 1 within the run; the owner assigns it. */
  readonly sequence: number;
  readonly at: number;
  readonly kind: string;
  /** Empty for entries of the run itself. */
  readonly path: string;
  readonly detail: JsonObject;
}

/** A value that is stored once. `json` is its text, and `sha256` the digest of that text. */
export interface JournalValue {
  readonly sha256: string;
  readonly json: string;
}

/** Changes of the run that are committed together with entries. */
export type RunChange = Partial<Pick<StoredRun, 'status' | 'endedAt' | 'wakeAt' | 'error' | 'output' | 'signalSeen'>>;

/** A write: all of it is committed, or nothing. */
export interface JournalWrite {
  readonly fence: RunFence;
  readonly entries: readonly JournalEntry[];
  readonly values?: readonly JournalValue[];
  readonly change?: RunChange;
}

/** A message to a run from any process: `cancel`, `resolve`, `decided`, `child-waiting`, `child-continued`,
 * `child-ended`, `resume`. */
export interface RunSignal {
  readonly id: number;
  readonly at: number;
  readonly kind: string;
  readonly by: string;
  readonly detail: JsonObject;
}

/** Selects runs; `caller` limits them to those of one caller id. */
export interface RunFilter extends RunQuery {
  readonly caller?: string;
  readonly parent?: string;
}

/**
 * The history of runs, shared by all processes. Writes of an owner join the batches of the audit log: a step's start
 * commits no later than the intent of its call. A write with a stale fencing number rejects with RUN_LEASE_LOST, and
 * nothing of it is stored.
 */
export interface RunJournal {
  /** Adds a run with its values and first entries. Returns false if a run has this id, or this caller and callId. */
  create(run: StoredRun, values: readonly JournalValue[], entries: readonly JournalEntry[]): Promise<boolean>;
  get(id: string): Promise<StoredRun | undefined>;
  /** Returns the runs whose id begins with this text, at most 10. */
  find(prefix: string): Promise<readonly StoredRun[]>;
  ofCall(caller: string, callId: string): Promise<StoredRun | undefined>;
  /** Stores that the call with this digest has left its run; with undefined, that an equal call has its end. */
  leave(run: string, call: string | undefined): Promise<void>;
  /** Replaces the origin of a run. */
  moveTo(run: string, origin: RunOrigin): Promise<void>;
  /** Returns the runs of a caller that equal calls have left, the oldest first. */
  leftBy(caller: string, call: string): Promise<readonly StoredRun[]>;
  /** Returns the newest first. */
  list(filter: RunFilter): Promise<readonly StoredRun[]>;
  /** Returns entries in order, from the one after `after` on; with `kinds` only those. */
  entries(run: string, after?: number, kinds?: readonly string[]): Promise<readonly JournalEntry[]>;
  value(sha256: string): Promise<Json | undefined>;
  /** Returns the open runs that are due at `now` and whose lease is over, the oldest first: no process executes them. */
  unleased(now: number, limit: number): Promise<readonly StoredRun[]>;
  /** Queues a write and resolves when it is committed. `soon`: with the next durable record, or within 25 ms. */
  append(write: JournalWrite, urgency: 'now' | 'soon'): Promise<void>;
  /** Resolves when few enough writes are queued for more. */
  ready(): Promise<void>;
  /** Adds a signal and makes the run due. Returns false if the run has ended or does not exist. */
  signal(run: string, signal: Pick<RunSignal, 'kind' | 'by' | 'detail'>): Promise<boolean>;
  /** Returns the signals after `after`, the oldest first. */
  signals(run: string, after: number): Promise<readonly RunSignal[]>;
  /**
   * Calls `onChange` after a run may have been created, signalled or ended, or its status changed: at once for a change
   * by this process, with the run; within 0.5 s for one by another.
   */
  watch(onChange: (run?: string) => void): () => void;
  /** Removes runs that ended before a time, with values that no other run uses. Returns their number. */
  prune(before: number): Promise<number>;
}
