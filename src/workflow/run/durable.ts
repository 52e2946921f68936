import type { Json, JsonObject } from '../../core/call.ts';
import type { RunError } from '../../core/records/run.ts';

/** A value in the journal: small ones are in the event, others are stored once by their SHA-256. */
export type StoredValue = { readonly inline: Json } | { readonly sha256: string; readonly bytes: number };

/** A call of a tool by a step. */
export interface StepCall {
  readonly tool: string;
  readonly input: JsonObject;
  /** Counts from 1. Each attempt is a call of its own. */
  readonly attempt: number;
  /** `auto` or a key: the server treats all attempts as one call, so a call in doubt is sent again. */
  readonly idempotency?: 'auto' | 'none' | { readonly key: string };
  readonly onInDoubt: 'retry' | 'fail' | 'ask';
  /** The time of this attempt without waits for a person. Then it ends with the code TIMEOUT. */
  readonly timeoutMs?: number;
  /** Aborts when the step has lost a race, timed out or was cancelled. */
  readonly signal: AbortSignal;
}

/** The end of a call. `mayHaveActed`: the call failed, and it is unknown whether it had effects. */
export type StepEnd =
  | {
      readonly ok: true;
      /** The server's result object. */
      readonly value: StoredValue;
      readonly isError: boolean;
      readonly server: string;
      readonly latencyMs: number;
      readonly endedAt: number;
    }
  | {
      readonly ok: false;
      readonly error: RunError;
      readonly mayHaveActed: boolean;
      /** No server had the call, or it may be repeated: by the error, the tool's facts or `idempotency`. */
      readonly isRetryable: boolean;
      readonly retryAfterMs?: number;
      readonly endedAt: number;
    };

/** The request of an approval step: bound to its run, its path and the digest of these values. */
export interface StepApprovalRequest {
  readonly title: string;
  readonly show?: Json;
  readonly schema?: JsonObject;
  readonly approvers?: readonly string[];
  readonly quorum: number;
  readonly expiresMs?: number;
}

/** The end of an approval step; `at` is the time of the decision. `cancelled`: the signal aborted first. */
export type ApprovalEnd =
  | {
      readonly kind: 'approved';
      readonly by: readonly string[];
      readonly note?: string;
      readonly content?: JsonObject;
      readonly at: number;
    }
  | { readonly kind: 'rejected'; readonly by: readonly string[]; readonly note?: string; readonly at: number }
  | { readonly kind: 'expired'; readonly at: number }
  | { readonly kind: 'cancelled' };

/** A wait. The journal keeps the time of its end, so that `forMs` counts from its first execution. */
export interface Sleep {
  readonly until?: number;
  readonly forMs?: number;
  /** The time in which an operation below this path waits for a person does not count. Empty: the whole run. */
  readonly pausedBelow?: string;
  readonly signal: AbortSignal;
}

/**
 * The operations of a run that survive a crash. Each has a path that is unique in the run, and its end is recorded: when
 * the run is executed again, the recorded end is returned at once. Order does not matter: replay may begin branches in
 * any order. Between these operations the interpreter awaits nothing, so a run whose operations all wait is suspended.
 *
 * An abort changes nothing that is recorded. An operation with an aborted signal returns its recorded end; without one
 * it begins nothing and ends as cancelled. A call that had begun before a crash is then not sent again and not in doubt.
 * When the run is suspended or its lease is lost, every open operation rejects with RunInterrupted.
 */
export interface Durable {
  /** Calls a tool. A failed call is an end, not an exception. An abort of `signal` ends it with the code CANCELLED. */
  call(path: string, call: StepCall): Promise<StepEnd>;
  /** Waits for the decision of an approver. Holds no timer and no connection. */
  approve(path: string, request: StepApprovalRequest, signal: AbortSignal): Promise<ApprovalEnd>;
  /** Waits until a time. An abort ends it and is not recorded. */
  sleep(path: string, sleep: Sleep): Promise<'elapsed' | 'aborted'>;
  /** Records a value once: a winner, the result of code. A later execution gets the recorded one. */
  record<T extends Json>(path: string, make: () => T): Promise<T>;
  /** Returns what `record` has recorded at this path, or true for a `sleep` that has elapsed. */
  recorded(path: string): Json | undefined;
  /** Records the time of its first call. */
  now(path: string): Promise<number>;
  /** Records a random number in [0, 1). */
  random(path: string): Promise<number>;
  /** Stores a value of more than `overBytes` (default: 64 KiB) of JSON; returns smaller ones inline. */
  store(value: Json, overBytes?: number): Promise<StoredValue>;
  load(value: StoredValue): Promise<Json>;
  /** Appends a line to the log, once per path and type. Lines of calls may be derived from their entries instead. */
  log(path: string, line: StepLog): void;
  /**
   * Marks work outside of the journal, such as an import or a worker. The run is not suspended until the returned
   * function is called.
   */
  hold(): () => void;
  /** Lets other work of the process go on if this run has computed for a while. Rejects if the run is interrupted. */
  yieldTurn(): Promise<void>;
  /** Aborts with a `RunStop` when the run is cancelled or its time is over. Compensations run after that. */
  readonly cancelled: AbortSignal;
}

/** The reason why a run is stopped: the status with which it ends, and its error. */
export interface RunStop {
  readonly status: 'cancelled' | 'failed';
  readonly error: RunError;
}

export interface StepLog {
  readonly stepId: string;
  readonly type: 'start' | 'complete' | 'error' | 'skip';
  readonly message: string;
}

/** Rejects an operation of a process that has lost its lease. The interpreter never catches it. */
export class RunInterrupted extends Error {}
