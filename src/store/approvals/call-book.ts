/** A call of a principal, and an approval or standing approval of it. */
export interface ApprovalCall {
  readonly principal: string;
  readonly callId: string;
  readonly approval: string;
}

/** The proof that a continuation of an approved call carries. */
export interface IssuedProof extends ApprovalCall {
  /** SHA-256 of the decided arguments. */
  readonly digest: string;
  readonly nonce: string;
}

/** The approval that a call requested last. */
export interface RequestedApproval {
  readonly approval: string;
  /** True if the client has cancelled the call. */
  readonly isCancelled: boolean;
}

/**
 * Stores which calls wait for an approval, and the proofs of those that go on after one. Shared by all processes; every
 * change waits for the disk. Rows are removed after 30 days; those
 * that only waited for an approval, a day after its end.
 */
export interface CallBook {
  /** Notes that a call waits for an approval. Returns false if the approval is not open. */
  join(call: ApprovalCall, at: number): Promise<boolean>;
  find(principal: string, callId: string): Promise<RequestedApproval | undefined>;
  /** Notes that the client has cancelled a call. Returns the ids of its approvals. */
  cancel(principal: string, callId: string): Promise<readonly string[]>;
  /** Tests whether a call that is not cancelled waits for an approval. */
  isAwaited(approval: string): Promise<boolean>;
  /** Stores the proof of the next continuation of a call. It replaces the one before. */
  issue(proof: IssuedProof, at: number): Promise<void>;
  isIssued(proof: IssuedProof): Promise<boolean>;
  /** Uses up a proof in the same step as the check. Returns false if it was used before, or never issued. */
  use(proof: IssuedProof): Promise<boolean>;
}
