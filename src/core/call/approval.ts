/** The key of the form of an approval among the input requests of a result. */
export const APPROVAL_FORM_KEY = 'heddle-approval';

/** The time after which the request of a waiting call ends if no approver is present. */
export const UNATTENDED_MS = 5000;

/** A call that waits for an approval. No server has it yet. */
export interface ApprovalContinuation {
  readonly kind: 'approval';
  readonly id: string;
}

/** Proves that the call of a continuation was approved with these arguments, so that it needs no second approval. */
export interface ApprovalProof {
  readonly id: string;
  /** SHA-256 of the decided arguments, other params and bound `_meta`. */
  readonly digest: string;
  /** Random text. The store knows which proof of a call was issued last and whether it was used. */
  readonly nonce: string;
}

/** The approval of a call that runs now. */
export interface UsedApproval {
  /** The id of an approval or of a standing approval; absent if the user approved at the terminal. */
  readonly id?: string;
  readonly how: 'self' | 'approved' | 'standing';
  /** The identities that approved. */
  readonly by: readonly string[];
}

/** The facts about a pending approval that its requester gets. */
export interface PendingApproval {
  readonly id: string;
  /** The identities and roles that can decide now: `role:approver`, `key:ops`, … */
  readonly approvers: readonly string[];
  readonly expiresAt: number;
  readonly reason: string;
  /** True if the requester may approve it alone: the terminal then asks the user. */
  readonly byRequester?: true;
  /** True if the client would get a form, had its credential a person behind it. */
  readonly needsPerson?: true;
}
