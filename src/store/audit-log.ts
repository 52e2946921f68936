import type { JsonObject } from '../core/call.ts';

/** An audit record: the intent of a call (`intent`), or the end of an attempt (`outcome`). */
export interface AuditRecord {
  readonly callId: string;
  readonly phase: 'intent' | 'outcome';
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

/** An append-only log. Neither this interface nor the databases below it have update or delete. */
export interface AuditLog {
  /** Queues a record. It is written with the next durable record, or within 25 ms. A failed write is retried. */
  append(record: Later<AuditRecord>): void;
  /** Settles when the record is committed. Rejects with AUDIT_UNAVAILABLE when that fails. */
  appendDurably(record: Later<AuditRecord>): Promise<void>;
  /** Newest first. */
  search(query: AuditQuery): Promise<readonly AuditRecord[]>;
  /** Reads every hash chain from its start, and reports each broken link. */
  verify(signal: AbortSignal): Promise<ChainReport>;
}

export interface AuditQuery {
  readonly since?: number;
  readonly caller?: string;
  readonly callId?: string;
  readonly limit: number;
}

export interface ChainReport {
  readonly records: number;
  readonly segments: number;
  /** Segment and sequence of each record whose hash does not follow from the one before it. */
  readonly broken: readonly { readonly segment: string; readonly sequence: number }[];
}
