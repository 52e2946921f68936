import type { CallKind, InputResponses, Json, JsonObject, Role } from '../call.ts';

/**
 * The state of an approval. `approved` becomes `used` when its call runs, or `expired` after 15 minutes. `void`: the
 * tool, its server or a rule changed before the call ran, or its client cancelled it.
 */
export type ApprovalStatus = 'pending' | 'approved' | 'rejected' | 'timeout' | 'expired' | 'used' | 'void';

/** A stage of an approval. All `need` decisions have to come from different identities. */
export interface ApprovalStage {
  /** `role:approver`, `key:ops`, `<issuer>#<sub>`. */
  readonly approvers: readonly string[];
  readonly need: number;
}

/** The decision of one identity. */
export interface ApprovalDecision {
  readonly by: string;
  /** The roles of the identity when it decided. */
  readonly roles: readonly Role[];
  readonly at: number;
  readonly verdict: 'approve' | 'reject';
  /** Index of the stage it counts for. */
  readonly stage: number;
  /** Required for a rejection. */
  readonly note?: string;
  /** The content of the form of an approval step. */
  readonly content?: JsonObject;
  readonly via: string;
}

/**
 * The kind of a subject. `sampling`: a sampling request that a server made during a call; `arguments` has it. `step`: an
 * approval step of a workflow; `description` is its title, and `arguments` what it shows.
 */
export type ApprovalKind = CallKind | 'sampling' | 'step';

/** The call that an approval is about. Text of servers is not escaped; front ends escape it. */
export interface ApprovalSubject {
  readonly kind: ApprovalKind;
  /** The public name. */
  readonly name: string;
  readonly description?: string;
  readonly servers: readonly string[];
  /** By server: the file and line of its entry. */
  readonly files?: Readonly<Record<string, string>>;
  readonly digest: string;
  readonly riskLevel: 'low' | 'medium' | 'high';
  readonly isDestructive?: true;
  readonly requires?: readonly string[];
  /** The exact arguments while the approval is open; afterwards the sanitised copy. */
  readonly arguments: Json;
  /** SHA-256 of the canonical JSON of the exact arguments. Hooks do not get it: a short secret could be guessed by it. */
  readonly inputDigest?: string;
  /** The input responses that a first call sends; only while the approval is open. */
  readonly inputResponses?: InputResponses;
  /** In lists: true if `arguments` is the beginning of their JSON, as text. Then the other exact parts are left out. */
  readonly isCut?: true;
  /** True if `arguments` is the sanitised copy. */
  readonly isSanitised?: true;
  readonly extraParams?: JsonObject;
  /** The client's `_meta`, without the keys that reach no server. */
  readonly meta?: JsonObject;
  /** The arguments before a hook changed them. */
  readonly changedByHooks?: JsonObject;
  /** The run and the path of the step that waits. */
  readonly run?: { readonly id: string; readonly path: string };
  /** The schema of the form of an approval step: who approves it gives content that fits. */
  readonly form?: JsonObject;
  /** True if the tool needs an approval of its own for each call. */
  readonly alwaysAsks?: true;
  /** Preview lines of a built-in tool, such as the estimate of a statement. */
  readonly preview?: readonly string[];
}

/** An approval: one exact call of one principal, and the decisions about it. */
export interface Approval {
  readonly id: string;
  readonly status: ApprovalStatus;
  readonly subject: ApprovalSubject;
  readonly requestedBy: string;
  readonly via: string;
  readonly profile?: string;
  /** The agent of the program that requested it. The approval covers no call of another agent. */
  readonly agent?: string;
  readonly requestedAt: number;
  /** The end of the time to decide; once approved, of the time to use it. */
  readonly expiresAt: number;
  /** Why it needs approval, in words; `routine` if only a mode or rule says so. */
  readonly reasons: readonly string[];
  /** The rule that asked. */
  readonly rule: string;
  /** The approval rule that chose the stages; absent if no rule matches. */
  readonly approvalRule?: string;
  readonly stages: readonly ApprovalStage[];
  readonly notRequester: boolean;
  /** False if a standing approval may not settle calls like this one. */
  readonly allowsStanding: boolean;
  readonly decisions: readonly ApprovalDecision[];
  /** The id of an earlier call of the same binding that may have run. */
  readonly earlierCall?: string;
  readonly settledAt?: number;
  /** The call that used it. */
  readonly callId?: string;
  /** How that call ended; absent while it runs, and after a crash. */
  readonly outcome?: string;
  /** Why it is void. */
  readonly reason?: string;
  /** False for a reader that may not approve it now. */
  readonly decidable?: false;
  /** In the response to a decision: the ids of other approvals that its standing approval completed. */
  readonly alsoApproved?: readonly string[];
}

/** An approval, and whether the client has cancelled the call that requested it. */
export interface ApprovalOfCall {
  readonly approval: Approval;
  readonly isCancelled: boolean;
}

export interface ApprovalQuery {
  readonly status?: ApprovalStatus | 'all';
  /** At most so many, from 1 to 10,000. Default: 100. */
  readonly limit?: number;
  /** The `next` of the page before. */
  readonly cursor?: string;
}

export interface ApprovalVerdict {
  readonly verdict: 'approve' | 'reject';
  /** Required for a rejection; at most 2,000 characters. */
  readonly note?: string;
  /** Settles later calls of the same tool, too. */
  readonly standing?: StandingWish;
  /** The content of the form of an approval step. */
  readonly content?: JsonObject;
}

/** A standing approval: settles calls of matching tools and arguments without asking again. */
export interface StandingApproval {
  readonly id: string;
  /** The exact public name, or a pattern as in `permissions`. */
  readonly tool: string;
  /** The principal it applies to; absent for those of the configuration, which apply to all. */
  readonly caller?: string;
  /** The agent of the program that it applies to. */
  readonly agent?: string;
  /** By dotted argument path: a glob. `*` does not match `/`; `..` never matches. Keys with dots are read, too. */
  readonly arguments: Readonly<Record<string, string>>;
  /** It covers calls with exactly the same arguments alone: these, without sensitive values. `binding` has their digest. */
  readonly exactly?: Json;
  /** The definition it was given for. A changed definition voids it. */
  readonly digest?: string;
  /**
   * SHA-256 of everything it was given for except arguments: kind, tool, definition, server entries, profile, other
   * params, bound `_meta`, caller and agent. A change of any of them voids it; a stored one without it covers nothing.
   */
  readonly binding?: string;
  /** Only while this session lasts. */
  readonly session?: string;
  readonly approvedBy: string;
  /** The roles of the approver when it was given; absent for those of the configuration. */
  readonly approverRoles?: readonly Role[];
  readonly createdAt: number;
  readonly expiresAt?: number;
  readonly usesLeft?: number;
  readonly from: 'store' | 'configuration';
}

/** The wish of an approver that an approval also settles later calls. */
export interface StandingWish {
  readonly session?: boolean;
  readonly untilMs?: number;
  readonly uses?: number;
  readonly arguments?: Readonly<Record<string, string>>;
  /** Settles calls with exactly the same arguments alone. */
  readonly exactly?: boolean;
}
