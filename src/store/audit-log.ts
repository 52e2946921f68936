import type { JsonObject } from '../core/call.ts';
import type { AuditEntry, AuditHead, AuditSearch, AuditVerification } from '../core/records/audit-entry.ts';
import type { RunFence } from './run-journal.ts';

/** `intent` opens a call or an administrative act, `outcome` ends it, `hook` is the effect of a hook. Only Heddle itself writes a `checkpoint`. */
export type AuditPhase = 'intent' | 'hook' | 'outcome' | 'checkpoint';

/** An audit record: the intent of a call, the effect of a hook, the end of an attempt, or a checkpoint. */
export interface AuditRecord {
  readonly callId: string;
  readonly phase: AuditPhase;
  readonly at: number;
  readonly caller: string;
  readonly via: string;
  /** The name as the caller wrote it; after resolution the public name. */
  readonly name: string;
  /** All other fields: server, decision, rule, digests, sanitised arguments, outcome, duration. */
  readonly detail: JsonObject;
}

/** A value, or a function that makes it when the batch is written. Making many at once costs a fraction per call. */
export type Later<T> = T | (() => T);

/** An append-only log. Nothing updates a record; only `prune` removes any. */
export interface AuditLog {
  /** Queues a record. It is written with the next durable record, or within 25 ms. A failed write is retried. */
  append(record: Later<AuditRecord>): void;
  /**
   * Settles with its place when the record is committed. Rejects with AUDIT_UNAVAILABLE when that fails, and with
   * RUN_LEASE_LOST when the fence of its run is stale.
   */
  appendDurably(record: Later<AuditRecord>, fence?: RunFence): Promise<AuditHead>;
  /** Newest first. */
  search(query: AuditQuery): Promise<readonly AuditRecord[]>;
  /** Reads matching records in batches. A thread reads the database, so that calls go on. */
  read(query: AuditSearch, options: ReadOrder): AsyncIterable<readonly AuditEntry[]>;
  /** Verifies every hash chain and checkpoint, or those of an export. A thread reads the database. */
  verify(options: VerifyOptions): Promise<AuditVerification>;
  /** Writes a checkpoint and returns its place; undefined if there are no new records and `always` is not set. */
  checkpoint(cause?: CheckpointCause): Promise<AuditHead | undefined>;
  /** Removes the records before a time, and leaves a checkpoint where `verify` starts. Returns their number. */
  prune(before: number, cause: CheckpointCause): Promise<number>;
}

export interface ReadOrder {
  /** Default: `newest` first. */
  readonly order?: 'newest' | 'written';
  /** Starts with the first record of this time or later, and leaves out none after it. Only in the order of writing. */
  readonly from?: number;
  readonly signal: AbortSignal;
}

/** The cause of a checkpoint that is not written by the clock. */
export interface CheckpointCause extends Partial<Pick<AuditRecord, 'callId' | 'caller' | 'via'>> {
  readonly detail?: JsonObject;
  /** Writes one even if there are no new records. */
  readonly always?: boolean;
}

export interface VerifyOptions {
  /** The path of an export to verify instead. */
  readonly file?: string;
  /** A head that was kept elsewhere. */
  readonly head?: AuditHead;
  readonly signal: AbortSignal;
}

export interface AuditQuery {
  readonly since?: number;
  readonly caller?: string;
  readonly callId?: string;
  readonly limit: number;
}
