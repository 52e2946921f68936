import type { Approval, ApprovalStatus } from '../core/records/approval.ts';

/** An approval as the store keeps it. */
export interface StoredApproval extends Approval {
  /** SHA-256 of the exact call. */
  readonly binding: string;
  /** Equal for all identities of the same person, so that each person counts once. */
  readonly principal: string;
  /** The session of the requester, if the front end has one. */
  readonly session?: string;
  /** The name of the process that runs the call of a used approval. */
  readonly runner?: string;
  /** Grows with every change. */
  readonly version: number;
}

/** Limits on open approvals: those that are pending or approved and not used. */
export interface OpenLimits {
  readonly perPrincipal: number;
  readonly total: number;
}

/** Selects approvals. */
export interface ApprovalFilter {
  readonly statuses: readonly ApprovalStatus[];
  /** Only those of this requester. */
  readonly principal?: string;
  /** Only those of the tool, resource or prompt with this public name. */
  readonly name?: string;
  /** Leaves out open approvals whose time is over by then, although their state is not stored yet. */
  readonly now?: number;
}

/** A page of approvals, newest first. */
export interface ApprovalListing extends ApprovalFilter {
  readonly limit: number;
  /** The approval after which the page begins. */
  readonly after?: Pick<Approval, 'id' | 'requestedAt'>;
}

/** The result of requesting an approval: a new one, the open one of the same binding, or the limit that refuses it. */
export type OpenedApproval =
  | { readonly approval: StoredApproval; readonly isNew: boolean }
  | { readonly limit: keyof OpenLimits };

export interface ReplaceCondition {
  /** Replaces nothing while a call waits for the approval. */
  readonly unlessAwaited?: boolean;
}

/**
 * Stores approvals, shared by all processes. Every change is a compare-and-set transaction that waits for the disk.
 * Exact arguments are removed when an approval is settled: `replace` writes the sanitised copy.
 */
export interface ApprovalBox {
  /** Adds an approval, unless an open one has the same binding. */
  open(approval: StoredApproval, limits: OpenLimits): Promise<OpenedApproval>;
  get(id: string): Promise<StoredApproval | undefined>;
  /** Returns the approvals whose id begins with this text, at most 10. */
  find(prefix: string): Promise<readonly StoredApproval[]>;
  /** Returns the newest approval of a binding. */
  latest(binding: string): Promise<StoredApproval | undefined>;
  /** Replaces an approval if its stored version is `next.version - 1`. Returns false if another process was faster. */
  replace(next: StoredApproval, options?: ReplaceCondition): Promise<boolean>;
  /**
   * Returns the newest first. Of exact arguments over 4 KB it reads the beginning alone: `isCut` of the subject is true.
   * Such an approval is never stored again.
   */
  list(query: ApprovalListing): Promise<readonly StoredApproval[]>;
  count(filter: ApprovalFilter): Promise<number>;
  /** Returns the times at which calls of a principal and tool were rejected since a time, at most 100, newest first. */
  rejections(principal: string, name: string, since: number): Promise<readonly number[]>;
  /** Returns the open approvals whose time is over, the oldest first. Their status is still the stored one. */
  due(now: number, limit: number): Promise<readonly StoredApproval[]>;
  /** Returns the time at which the next open approval is over; undefined if none is open. */
  nextExpiry(): Promise<number | undefined>;
  /** Returns the pending approvals that the webhook has not received and that have not timed out, the oldest first. */
  unnotified(now: number, limit: number): Promise<readonly StoredApproval[]>;
  /** Notes that the webhook has received an approval. */
  markNotified(id: string, at: number): Promise<void>;
  /**
   * Calls `onChange` after an approval may have changed: at once for a change by this process, within 0.5 s for one by
   * another. Each watcher is called once without a change, so that none between its read and its watch is lost.
   * `id` is absent if any approval may have changed. Nothing is polled while there is no watcher. The returned function
   * ends it.
   */
  watch(onChange: (id?: string) => void): () => void;
}
