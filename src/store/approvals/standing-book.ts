import type { StandingApproval } from '../../core/records/approval.ts';

/** A standing approval as the store keeps it. */
export interface StoredStanding extends StandingApproval {
  /** The profile of the approval that it was given for. */
  readonly profile?: string;
}

/** Stores standing approvals, shared by all processes. */
export interface StandingBook {
  all(): Promise<readonly StoredStanding[]>;
  /** Adds a standing approval. Returns false if its id is taken. */
  add(standing: StoredStanding): Promise<boolean>;
  /** Removes one. Returns false if there is none of this id. */
  revoke(id: string): Promise<boolean>;
  /** Counts one use in the same step as the check. Returns false if no use is left or it was revoked. */
  use(id: string): Promise<boolean>;
  /** Takes one counted use back: its call did not run. */
  giveBack(id: string): Promise<void>;
}
