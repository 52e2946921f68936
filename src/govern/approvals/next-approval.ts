import { vaultPrincipal } from '../../core/call/vault-principal.ts';
import type { JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import type { ApprovalDecision, ApprovalStage, ApprovalStatus, ApprovalSubject } from '../../core/records/approval.ts';
import type { StoredApproval } from '../../store/approval-box.ts';
import { sanitised } from '../sanitise.ts';
import { type Approver, type CountsStill, deciderOf, mayApproveIn, stageProgress } from './stage-progress.ts';

/** The time in which an approved call has to be made. */
export const USE_WITHIN_MS = 900_000;

/** The outcome of a call whose process ended before a response came. */
export const UNKNOWN_OUTCOME = 'OUTCOME_UNKNOWN';

/** The stages that the rules in force require. */
export interface ApprovalPlan {
  /** The approval rule that matched; absent if none did. */
  readonly approvalRule?: string;
  readonly stages: readonly ApprovalStage[];
  readonly notRequester: boolean;
  readonly allowsStanding: boolean;
  /** False if the requester cannot approve by the form of its client. */
  readonly client: boolean;
  readonly timeoutMs: number;
}

/** An event that may change an approval. The passing of time is part of every event. */
export type ApprovalEvent =
  | { readonly kind: 'time' }
  | {
      readonly kind: 'decide';
      readonly by: Approver;
      readonly verdict: ApprovalDecision['verdict'];
      readonly via: string;
      readonly note?: string | undefined;
      readonly content?: JsonObject | undefined;
    }
  /** The rules may require other stages than before. */
  | { readonly kind: 'replan'; readonly plan: ApprovalPlan }
  | { readonly kind: 'use'; readonly callId: string; readonly runner?: string }
  | { readonly kind: 'end'; readonly outcome: string }
  | { readonly kind: 'void'; readonly reason: string };

/**
 * The reason why an event has no effect. `settled`: it is over. `not-approver`: the identity may not decide now.
 * `counted`: the identity has approved before. `not-approved`: it cannot be used yet.
 */
export type ApprovalRefusal = 'settled' | 'not-approver' | 'counted' | 'not-approved';

/** The state after an event. `approval` is the same object if nothing changed. */
export interface NextApproval {
  readonly approval: StoredApproval;
  readonly refusal?: ApprovalRefusal;
}

export interface EventContext {
  readonly now: number;
  readonly countsStill?: CountsStill;
}

/** Tests whether an id is that of an approval, and not of a standing one. */
export const isApprovalId = (id: string): boolean => id.startsWith('ap_');

const OPEN: readonly ApprovalStatus[] = ['pending', 'approved'];

/** Returns true if an approval can still be decided or used. */
export const isOpen = ({ status }: Pick<StoredApproval, 'status'>): boolean => OPEN.includes(status);

/** Returns the next state of an approval. A pure function: no other code changes the status of an approval. */
export function nextApproval(approval: StoredApproval, event: ApprovalEvent, context: EventContext): NextApproval {
  const timely = afterTime(approval, context.now);
  if (event.kind === 'end') return ended(timely, event.outcome);
  if (!isOpen(timely)) return event.kind === 'time' ? { approval: timely } : { approval: timely, refusal: 'settled' };
  switch (event.kind) {
    case 'time':
      return { approval: timely };
    case 'decide':
      return decided(timely, event, context);
    case 'replan':
      return { approval: afterTime(replanned(timely, event.plan, context), context.now) };
    case 'use':
      return timely.status === 'approved'
        ? { approval: settled({ ...timely, ...usedBy(event) }, 'used', context.now) }
        : { approval: timely, refusal: 'not-approved' };
    default:
      return { approval: settled({ ...timely, reason: event.reason }, 'void', context.now) };
  }
}

const usedBy = ({ callId, runner }: Extract<ApprovalEvent, { readonly kind: 'use' }>) => ({
  callId,
  ...(runner !== undefined && { runner }),
});

function afterTime(approval: StoredApproval, now: number): StoredApproval {
  if (!isOpen(approval) || now < approval.expiresAt) return approval;
  return settled(approval, approval.status === 'pending' ? 'timeout' : 'expired', now);
}

function decided(
  approval: StoredApproval,
  { by, verdict, via, note, content }: Extract<ApprovalEvent, { readonly kind: 'decide' }>,
  { now, countsStill }: EventContext,
): NextApproval {
  if (approval.status !== 'pending') return { approval, refusal: 'settled' };
  const { stage } = stageProgress(approval, countsStill);
  const current = approval.stages[stage];
  const principal = vaultPrincipal(by);
  const isApprover = current !== undefined && mayApproveIn(approval, current, { ...by, via });
  // The requester may always reject.
  if (!isApprover && !(verdict === 'reject' && principal === approval.principal)) {
    return { approval, refusal: 'not-approver' };
  }
  const hasApproved = approval.decisions.some(
    (one) => one.verdict === 'approve' && deciderOf(one) === principal && (countsStill?.(one) ?? true),
  );
  if (verdict === 'approve' && hasApproved) return { approval, refusal: 'counted' };
  const given = { ...(note !== undefined && { note }), ...(content !== undefined && { content }) };
  const decision = { by: by.id, roles: by.roles, at: now, verdict, stage, via, ...given };
  const next = { ...approval, decisions: [...approval.decisions, decision] };
  if (verdict === 'reject') return { approval: settled(next, 'rejected', now) };
  const isComplete = stageProgress(next, countsStill).stage === next.stages.length;
  return { approval: isComplete ? approved(next, now) : next };
}

const approved = (approval: StoredApproval, at: number): StoredApproval => ({
  ...approval,
  status: 'approved',
  expiresAt: at + USE_WITHIN_MS,
});

/**
 * Counts the decisions again by the stages in force. A stricter rule makes an approved call wait again. The times begin
 * with the last decision, so that a change of rules renews none.
 */
function replanned(approval: StoredApproval, plan: ApprovalPlan, { countsStill }: EventContext): StoredApproval {
  const { stages, notRequester, allowsStanding, approvalRule, timeoutMs } = plan;
  const { approvalRule: _, ...rest } = approval;
  const staged = { ...rest, stages, notRequester, allowsStanding, ...(approvalRule !== undefined && { approvalRule }) };
  const { stage, counted } = stageProgress(staged, countsStill);
  const isComplete = stage === stages.length;
  if (isComplete !== (approval.status === 'approved')) {
    if (isComplete) return approved(staged, lastOf(counted, approval.requestedAt));
    return { ...staged, status: 'pending', expiresAt: lastOf(approval.decisions, approval.requestedAt) + timeoutMs };
  }
  return isSamePlan(approval, plan) ? approval : staged;
}

/** Returns the time of the last decision. */
const lastOf = (decisions: readonly ApprovalDecision[], requestedAt: number): number =>
  Math.max(requestedAt, ...decisions.map(({ at }) => at));

type StoredPlan = Omit<ApprovalPlan, 'timeoutMs' | 'client'>;

const planText = ({ approvalRule, stages, notRequester, allowsStanding }: StoredPlan) =>
  JSON.stringify([approvalRule ?? null, stages, notRequester, allowsStanding]);

const isSamePlan = (approval: StoredApproval, plan: ApprovalPlan) => planText(approval) === planText(plan);

/** Notes how the call of a used approval ended. The first outcome stays, except an unknown one. */
function ended(approval: StoredApproval, outcome: string): NextApproval {
  if (approval.status !== 'used') return { approval, refusal: 'not-approved' };
  const isKnown = approval.outcome !== undefined && approval.outcome !== UNKNOWN_OUTCOME;
  return { approval: isKnown || approval.outcome === outcome ? approval : { ...approval, outcome } };
}

/** Ends an approval. The exact arguments are replaced by the sanitised copy. */
const settled = (approval: StoredApproval, status: ApprovalStatus, now: number): StoredApproval => ({
  ...approval,
  status,
  settledAt: now,
  subject: sanitisedSubject(approval.subject),
});

/** Returns a subject without exact arguments. */
export function sanitisedSubject(subject: ApprovalSubject): ApprovalSubject {
  if (subject.isSanitised) return subject;
  const { arguments: sent, extraParams, meta, changedByHooks, inputResponses: _, preview: __, ...rest } = subject;
  return {
    ...rest,
    arguments: isObject(sent) ? sanitised(sent) : null,
    isSanitised: true,
    ...(extraParams && { extraParams: toObject(extraParams) }),
    ...(meta && { meta: toObject(meta) }),
    ...(changedByHooks && { changedByHooks: toObject(changedByHooks) }),
  };
}

/** A copy that had to be cut is a text, which an object has to hold. */
function toObject(value: JsonObject): JsonObject {
  const clean = sanitised(value);
  return isObject(clean) ? clean : { cut: clean };
}
