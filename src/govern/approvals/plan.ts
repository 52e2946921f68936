import type { Settings } from '../../config/schema/schema.ts';
import { vaultPrincipal } from '../../core/call/vault-principal.ts';
import type { DecidedCall, Decision, ResolvedCall } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { conditionValues } from '../policy/condition-values.ts';
import { matchesCallers, matchesTools } from '../policy/match.ts';
import type { ApprovalPlan } from './next-approval.ts';
import { type Approver, isApproverIn } from './stage-progress.ts';

export type ApprovalRule = Settings['approvals']['rules'][number];

/** The part of a call that rules look at. */
export type PlannedCall = Pick<ResolvedCall, 'kind' | 'target' | 'input' | 'caller'> &
  Pick<DecidedCall, 'sampling'> & {
    /** Has the labels of the session. */
    readonly decision?: Pick<Decision, 'taint'>;
  };

const DEFAULT_STAGES = [{ approvers: ['role:owner', 'role:approver'], need: 1 }];

/**
 * Returns the stages for a call: those of the first approval rule that matches, else one owner or approver. Rules of an
 * organisation come first in `rules`. Throws APPROVAL_REQUIRED if the condition of a rule fails.
 */
export async function planOf(
  call: PlannedCall,
  { rules, timeoutMs }: Pick<Settings['approvals'], 'rules' | 'timeoutMs'>,
  now: number,
): Promise<ApprovalPlan> {
  for (const rule of rules) {
    if (await matchesRule(rule, call, now)) return withoutStanding(toPlan(rule, timeoutMs), call);
  }
  const plan = { stages: DEFAULT_STAGES, notRequester: false, allowsStanding: true, client: true, timeoutMs };
  return withoutStanding(plan, call);
}

/**
 * Leaves out standing approvals of tools that always need one of their own, and of sampling requests: each is another
 * text for the model of the caller.
 */
const withoutStanding = (plan: ApprovalPlan, { sampling, target }: PlannedCall): ApprovalPlan =>
  sampling || target.facts.approval === 'always' ? { ...plan, allowsStanding: false } : plan;

/** Returns the plan of one rule. A rule that needs several decisions allows no standing approval. */
export const toPlan = (rule: ApprovalRule, timeoutMs: number): ApprovalPlan => ({
  approvalRule: rule.name,
  stages: rule.stages,
  notRequester: rule.notRequester,
  allowsStanding: rule.standing && decisionsNeeded(rule) === 1,
  client: rule.client,
  timeoutMs: rule.timeoutMs ?? timeoutMs,
});

const decisionsNeeded = ({ stages }: Pick<ApprovalPlan, 'stages'>): number =>
  stages.reduce((sum, { need }) => sum + need, 0);

async function matchesRule({ name, tools, callers, when }: ApprovalRule, call: PlannedCall, now: number) {
  if (tools && !matchesTools(tools, call.target)) return false;
  if (callers && !matchesCallers(callers, call.caller)) return false;
  if (when === undefined) return true;
  const { compileExpression } = await import('../../cel/compile-expression.ts');
  const condition = compileExpression(when);
  const values = conditionValues({ ...call, taint: call.decision?.taint }, now);
  const result = 'message' in condition ? condition.message : condition.evaluate(values);
  if (typeof result === 'boolean') return result;
  throw failedRule(name, typeof result === 'string' ? result : result.failure);
}

/** Returns true if the requester alone can complete the approval with its roles. */
export const isDecidedByRequester = (
  plan: Pick<ApprovalPlan, 'stages' | 'notRequester'>,
  requester: Approver,
): boolean =>
  !plan.notRequester && decisionsNeeded(plan) === 1 && plan.stages.every((stage) => isApproverIn(stage, requester));

/** The principal that a plan excludes from deciding. */
export const excludedBy = ({ notRequester }: ApprovalPlan, requester: Approver): string | undefined =>
  notRequester ? vaultPrincipal(requester) : undefined;

const failedRule = (rule: string, cause: string) =>
  new HeddleError('APPROVAL_REQUIRED', `The condition of the approval rule ${rule} failed: ${cause}.`, {
    fix: 'Correct `when` of the rule in `approvals.rules`.',
    details: { rule },
  });
