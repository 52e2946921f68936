import type { Effect, JsonObject } from '../core/call.ts';
import { withNumbersAsText } from '../core/exact-numbers.ts';
import type {
  Approval,
  ApprovalQuery,
  ApprovalStage,
  StandingApproval,
  StandingWish,
} from '../core/records/approval.ts';
import type { Page } from '../core/records/listing.ts';
import type { Heddle } from '../heddle.ts';
import { checkOptions, type OptionKeys, SIGNAL_KEYS, type SignalOptions } from './check-options.ts';
import { copyAsJson } from './library-call.ts';
import { asAgent, asApprover, PROGRAM } from './program.ts';

/** The name in which a program decides. */
interface DecideOptions {
  /**
   * The name of a person or program that decided, such as `reviewer`. It is recorded as `library/reviewer`, and decides only
   * where an approval rule lists that name. The program vouches for it: Heddle does not authenticate it.
   */
  readonly by?: string;
}

/** Options of an approval. */
export interface ApproveOptions extends DecideOptions {
  readonly note?: string;
  /** The content of the form of a workflow's approval step. */
  readonly content?: JsonObject;
  /** Approves later calls of the same tool by the same caller, too. `{}` sets no limit. */
  readonly standing?: StandingWish;
}

/** Options of a rejection. The requester gets the note. */
export interface RejectOptions extends DecideOptions {
  readonly note: string;
}

/**
 * Approvals of calls, for a program in the role of the owner. Every decision is in the audit log. Numbers that
 * JavaScript cannot hold are text, digit by digit.
 */
export interface ApprovalApi {
  /**
   * Returns a page of approvals, newest first, of at most 1 MB. Default: those that are pending. Exact arguments over 4 KB
   * are cut (`subject.isCut`), and the content of forms is left out: `get` has both. `next` is the `cursor` of the next page.
   */
  page(query?: ApprovalQuery): Promise<Page<Approval>>;
  /** Lists as many approvals as `limit` says, like `page`. */
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

/** The effect of the rules on a call that was not made. */
export interface ApprovalNeed {
  readonly required: boolean;
  /** `deny`: the call would be refused, and no approval helps. */
  readonly effect: Effect;
  /** The setting that decides. */
  readonly rule: string;
  readonly reason: string;
  /** The stages of the approval, if one is required. */
  readonly stages?: readonly ApprovalStage[];
  /** The id of the standing approval that covers the call. */
  readonly standing?: string;
  /** Why no approval can be requested. */
  readonly refusal?: string;
}

export interface NeedOptions extends SignalOptions {
  readonly agent?: string;
}

const NEED_KEYS: OptionKeys<NeedOptions> = { agent: true, signal: true };
const QUERY_KEYS: OptionKeys<ApprovalQuery> = { status: true, limit: true, cursor: true };
const APPROVE_KEYS: OptionKeys<ApproveOptions> = { by: true, note: true, content: true, standing: true };
const STANDING_KEYS: OptionKeys<StandingWish> = {
  ...{ session: true, untilMs: true, uses: true, arguments: true },
  exactly: true,
};
const REJECT_KEYS: OptionKeys<RejectOptions> = { by: true, note: true };

const never = (): AbortSignal => new AbortController().signal;

/** Returns the approvals for the embedding program. */
export function programApprovals({ approvals }: Pick<Heddle, 'approvals'>): ApprovalApi {
  return {
    page: async (query) =>
      withNumbersAsText(await approvals.page(PROGRAM, checkOptions('approvals.page', query, QUERY_KEYS))),
    list: async (query) =>
      withNumbersAsText(await approvals.list(PROGRAM, checkOptions('approvals.list', query, QUERY_KEYS))),
    get: async (id) => withNumbersAsText(await approvals.get(PROGRAM, id)),
    async approve(id, options) {
      const { by, note, content, standing } = checkOptions('approvals.approve', options, APPROVE_KEYS);
      checkOptions('standing', standing, STANDING_KEYS);
      const verdict = {
        verdict: 'approve',
        ...(note !== undefined && { note }),
        ...(standing && { standing }),
        ...(content && { content }),
      } as const;
      return withNumbersAsText(await approvals.decide(asApprover(by), id, verdict));
    },
    async reject(id, options) {
      const { by, note } = checkOptions('approvals.reject', options, REJECT_KEYS);
      return withNumbersAsText(await approvals.decide(asApprover(by), id, { verdict: 'reject', note }));
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

interface WantedCall {
  readonly name: string;
  readonly input: JsonObject | undefined;
}

/** Decides on a call without making it. */
export async function approvalNeed(
  { policy }: Pick<Heddle, 'policy'>,
  { name, input = {} }: WantedCall,
  options?: NeedOptions,
): Promise<ApprovalNeed> {
  const { agent, signal = never() } = checkOptions('requiresApproval', options, NEED_KEYS);
  const check = await policy.check(asAgent(agent), { name, input: copyAsJson(name, input), signal });
  const { effect, rule, reason, stages, standing, refusal } = check;
  return {
    required: effect === 'ask' && standing === undefined,
    ...{ effect, rule, reason },
    ...(stages && { stages }),
    ...(standing !== undefined && { standing }),
    ...(refusal !== undefined && { refusal }),
  };
}
