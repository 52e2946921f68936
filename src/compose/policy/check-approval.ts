import { HeddleError } from '../../core/errors.ts';
import type { PolicyCheck } from '../../core/records/policy.ts';
import { standingBindings } from '../../govern/approvals/binding.ts';
import { impossibleStage, readIdentities } from '../../govern/approvals/identities.ts';
import type { ApprovalPlan } from '../../govern/approvals/next-approval.ts';
import { excludedBy, planOf } from '../../govern/approvals/plan.ts';
import { configuredStanding, settlesCall } from '../../govern/approvals/standing.ts';
import { signatureIn } from '../approvals/signature-of.ts';
import type { DecidedCheck, PolicyCheckOptions } from './decided-check.ts';

type ApprovalCheck = Pick<PolicyCheck, 'stages' | 'standing' | 'refusal'>;

/** Returns the approvers of a call that needs an approval, and the standing approval that would settle it. */
export async function checkApproval(options: PolicyCheckOptions, decided: DecidedCheck): Promise<ApprovalCheck> {
  if (decided.decision.effect !== 'ask') return {};
  const { approvals } = options.settings();
  const { caller, target, kind, sent } = decided;
  try {
    const plan = await planOf({ caller, target, kind, input: sent.input }, approvals, options.clock());
    const standing = plan.allowsStanding ? await standingFor(options, decided) : undefined;
    if (standing !== undefined) return { stages: plan.stages, standing };
    const refusal = approvals.unattended
      ? '`approvals.unattended` is true.'
      : await whyImpossible(options, plan, decided);
    return { stages: plan.stages, ...(refusal !== undefined && { refusal }) };
  } catch (thrown) {
    return { refusal: HeddleError.from(thrown).message };
  }
}

async function standingFor(
  options: PolicyCheckOptions,
  { caller, target, kind, sent }: DecidedCheck,
): Promise<string | undefined> {
  const { policy, config } = options.active();
  const { extraParams, meta = {} } = sent;
  const call = { caller, target, kind, input: sent.input, meta, ...(extraParams && { extraParams }) };
  const binding = standingBindings(call, signatureIn(options.active));
  const candidate = { caller, target, input: sent.input, binding, groups: policy.groups };
  const all = [...configuredStanding(config.settings.approvals.standing), ...(await options.standing.all())];
  return all.find((one) => settlesCall(one, candidate, options.clock()))?.id;
}

async function whyImpossible(
  { keys, settings }: PolicyCheckOptions,
  plan: ApprovalPlan,
  { caller }: DecidedCheck,
): Promise<string | undefined> {
  const except = excludedBy(plan, caller);
  const identities = await readIdentities(keys, settings());
  const stage = impossibleStage({ stages: plan.stages, ...(except !== undefined && { except }) }, identities);
  if (stage === undefined) return undefined;
  return `no known identity can complete stage ${stage + 1} of the approval rule ${plan.approvalRule ?? '(default)'}.`;
}
