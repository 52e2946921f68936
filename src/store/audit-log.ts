import type { JsonObject } from '../core/call.ts';

/** One line of the audit log: what was about to happen (`intent`), or how an attempt ended (`outcome`). */
export interface AuditRecord {
  readonly callId: string;
  readonly phase: 'intent' | 'outcome';
  readonly at: number;
  readonly caller: string;
  readonly via: string;
  /** The name as the caller wrote it; after resolution the public name. */
  readonly name: string;
  /** Everything else: server, decision, rule, digests, sanitised arguments, outcome, duration. */
  readonly detail: JsonObject;
}

/** What is made when it is written, right beside others of its kind: in the middle of a call it would cost several times as much. */
export type Later<T> = T | (() => T);

/** Append-only: there is no update and no delete, in this interface or below it. */
export interface AuditLog {
  /** Queued; written with the next durable record, or a moment later. Kept for the next time when that fails. */
  append(record: Later<AuditRecord>): void;
  /** Settles when the record is committed; rejects with AUDIT_UNAVAILABLE when it cannot be. */
  appendDurably(record: Later<AuditRecord>): Promise<void>;
  /** Newest first. */
  search(query: AuditQuery): Promise<readonly AuditRecord[]>;
  /** Reads every chain from its start and says where one is broken. */
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
