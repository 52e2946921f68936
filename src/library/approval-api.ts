import type { JsonObject } from '../core/call.ts';
import { withNumbersAsText } from '../core/exact-numbers.ts';
import type { Approval, ApprovalQuery, StandingApproval, StandingWish } from '../core/records/approval.ts';
import type { Heddle } from '../heddle.ts';
import { checkOptions, type OptionKeys, SIGNAL_KEYS, type SignalOptions } from './check-options.ts';
import { PROGRAM } from './library-call.ts';

/** Options of an approval. */
export interface ApproveOptions {
  readonly note?: string;
  /** The content of the form of a workflow's approval step. */
  readonly content?: JsonObject;
  /** Approves later calls of the same tool by the same caller, too. `{}` sets no limit. */
  readonly standing?: StandingWish;
}

/** Options of a rejection. The requester gets the note. */
export interface RejectOptions {
  readonly note: string;
}

/**
 * Approvals of calls, for a program in the role of the owner. Every decision is in the audit log. Numbers that
 * JavaScript cannot hold are text, digit by digit.
 */
export interface ApprovalApi {
  /** Lists approvals, newest first. Default: those that are pending. */
  list(query?: ApprovalQuery): Promise<readonly Approval[]>;
  /** Finds an approval by its id or the beginning of it. Throws NAME_UNKNOWN or NAME_AMBIGUOUS. */
  get(id: string): Promise<Approval>;
  /** Approves a call. Throws APPROVAL_SETTLED, or PERMISSION_DENIED if the program is no approver of it. */
  approve(id: string, options?: ApproveOptions): Promise<Approval>;
  reject(id: string, options: RejectOptions): Promise<Approval>;
  /**
   * Resolves once an approval is no longer pending, whichever process decided. Repeat the same call then.
   *
   * @example
   * const { status } = await heddle.approvals.wait(error.details.approval);
   */
  wait(id: string, options?: SignalOptions): Promise<Approval>;
  readonly standing: {
    list(): Promise<readonly StandingApproval[]>;
    revoke(id: string): Promise<void>;
  };
}

const QUERY_KEYS: OptionKeys<ApprovalQuery> = { status: true, limit: true };
const APPROVE_KEYS: OptionKeys<ApproveOptions> = { note: true, content: true, standing: true };
const STANDING_KEYS: OptionKeys<StandingWish> = { session: true, untilMs: true, uses: true, arguments: true };
const REJECT_KEYS: OptionKeys<RejectOptions> = { note: true };

const never = (): AbortSignal => new AbortController().signal;

/** Returns the approvals for the embedding program. */
export function programApprovals({ approvals }: Pick<Heddle, 'approvals'>): ApprovalApi {
  return {
    list: async (query) =>
      withNumbersAsText(await approvals.list(PROGRAM, checkOptions('approvals.list', query, QUERY_KEYS))),
    get: async (id) => withNumbersAsText(await approvals.get(PROGRAM, id)),
    async approve(id, options) {
      const { note, content, standing } = checkOptions('approvals.approve', options, APPROVE_KEYS);
      checkOptions('standing', standing, STANDING_KEYS);
      const verdict = {
        verdict: 'approve',
        ...(note !== undefined && { note }),
        ...(standing && { standing }),
        ...(content && { content }),
      } as const;
      return withNumbersAsText(await approvals.decide(PROGRAM, id, verdict));
    },
    async reject(id, options) {
      const { note } = checkOptions('approvals.reject', options, REJECT_KEYS);
      return withNumbersAsText(await approvals.decide(PROGRAM, id, { verdict: 'reject', note }));
    },
    async wait(id, options) {
      const { signal = never() } = checkOptions('approvals.wait', options, SIGNAL_KEYS);
      return withNumbersAsText(await approvals.settled(PROGRAM, id, signal));
    },
    standing: {
      list: () => approvals.standing.list(PROGRAM),
      revoke: (id) => approvals.standing.revoke(PROGRAM, id),
    },
  };
}
