import { vaultPrincipal } from '../../../core/call/vault-principal.ts';
import type { Caller, Json, JsonObject } from '../../../core/call.ts';
import { HeddleError } from '../../../core/errors.ts';
import type { StoredApproval } from '../../../store/approval-box.ts';
import type { ApprovalFlow } from '../approval-flow.ts';
import { digestOf } from '../binding.ts';
import { impossibleStage } from '../identities.ts';
import { newApprovalId } from '../subject.ts';

/** A step of a run that wants the decision of an approver. */
export interface StepToApprove {
  readonly run: string;
  readonly path: string;
  /** The public name of the workflow's tool, and the digest of its definition. */
  readonly name: string;
  readonly digest: string;
  readonly caller: Caller;
  readonly title: string;
  readonly show?: Json | undefined;
  /** The schema of a form. Its content is part of the decision. */
  readonly schema?: JsonObject | undefined;
  readonly approvers?: readonly string[] | undefined;
  readonly quorum: number;
  readonly expiresMs?: number | undefined;
}

type StepFlow = Pick<ApprovalFlow, 'box' | 'open' | 'settings' | 'identities' | 'clock'>;

const DEFAULT_APPROVERS = ['role:owner', 'role:approver'];

/**
 * Requests the approval of a step. The same step of a run gets the same approval again, however it ended. Throws
 * APPROVAL_REQUIRED if no approval can be given.
 */
export async function requestStepApproval(flow: StepFlow, step: StepToApprove): Promise<string> {
  const binding = digestOf(['step', step.run, step.path, step.title, step.show ?? null, step.schema ?? null]);
  const known = await flow.box.latest(binding);
  if (known) return known.id;
  const stages = [{ approvers: step.approvers ?? DEFAULT_APPROVERS, need: step.quorum }];
  if (flow.settings().approvals.unattended)
    throw cannotApprove(step, 'Approvals are refused, because `approvals.unattended` is true.');
  if (impossibleStage({ stages }, await flow.identities()) !== undefined)
    throw cannotApprove(step, `No identity can give the ${step.quorum} of ${stages[0]?.approvers.join(', ')}.`);
  const opened = await flow.open(newStepApproval(step, { binding, stages, flow }));
  if ('limit' in opened) throw cannotApprove(step, 'Too many approvals are open.');
  return opened.approval.id;
}

interface NewStepApproval extends Pick<StoredApproval, 'binding' | 'stages'> {
  readonly flow: Pick<StepFlow, 'settings' | 'clock'>;
}

function newStepApproval(step: StepToApprove, { binding, stages, flow }: NewStepApproval): StoredApproval {
  const { run, path, name, digest, caller, title, show = null, schema } = step;
  const now = flow.clock();
  return {
    id: newApprovalId('ap'),
    status: 'pending',
    subject: {
      kind: 'step',
      ...{ name, digest, description: title, servers: ['workflow'], riskLevel: 'medium' },
      arguments: show,
      inputDigest: digestOf(show),
      run: { id: run, path },
      ...(schema && { form: schema }),
    },
    requestedBy: caller.id,
    via: caller.via,
    requestedAt: now,
    expiresAt: now + (step.expiresMs ?? flow.settings().approvals.timeoutMs),
    reasons: [title],
    rule: `the step ${path} of the workflow`,
    ...{ stages, notRequester: false, allowsStanding: false, binding },
    decisions: [],
    principal: vaultPrincipal(caller),
    version: 1,
    ...(caller.profile !== undefined && { profile: caller.profile }),
    ...(caller.agent !== undefined && { agent: caller.agent }),
  };
}

const cannotApprove = ({ path }: StepToApprove, reason: string) =>
  new HeddleError('APPROVAL_REQUIRED', `The step ${path} needs an approval, and none can be given. ${reason}`, {
    fix: 'Change `approvers` of the step, or create such a key with `heddle key create`.',
  });

/** Throws INPUT_INVALID if the content of an approval does not fit the form of its step. */
export async function requireFormContent({ subject }: StoredApproval, content: JsonObject | undefined): Promise<void> {
  const { form, name } = subject;
  if (form === undefined) {
    if (content === undefined) return;
    throw new HeddleError('INPUT_INVALID', 'This approval has no form, so it takes no `content`.');
  }
  const { compileCheck } = await import('../../../schema/compile.ts');
  const problem = compileCheck(form, name)(content ?? {});
  if (problem === undefined) return;
  throw new HeddleError('INPUT_INVALID', `The content does not fit the form of the approval: ${problem}`, {
    fix: 'Give `content` that fits the schema of the step.',
  });
}
