import { callerName } from '../../core/call/caller.ts';
import { OWNER_PRINCIPAL, vaultPrincipal } from '../../core/call/vault-principal.ts';
import type { Caller } from '../../core/call.ts';
import type { ApprovalDecision, ApprovalStage } from '../../core/records/approval.ts';
import type { StoredApproval } from '../../store/approval-box.ts';

/** An identity that decides or could decide. */
export type Approver = Pick<Caller, 'id' | 'roles'>;

/** Tells whether a decision still counts. A decision by a revoked key does not. Without `roles` any role is enough. */
export type CountsStill = (decision: Pick<ApprovalDecision, 'by' | 'at'> & Partial<Approver>) => boolean;

/** The fields of an approval that tell who may approve. */
export type StagedApproval = Pick<
  StoredApproval,
  'stages' | 'notRequester' | 'approvalRule' | 'principal' | 'agent' | 'decisions'
>;

/** The channel of a decision that the requester made in the form of its client. */
export const BY_FORM = 'form';

export interface StageProgress {
  /** Index of the stage that waits for decisions; the number of stages once all are complete. */
  readonly stage: number;
  /** The decisions that count, in the order of the stages. */
  readonly counted: readonly ApprovalDecision[];
}

/**
 * Assigns the approving decisions to the stages. Each stage takes the earliest decisions of its approvers that no stage
 * before it took. Each identity counts once in the whole approval.
 */
export function stageProgress(approval: StagedApproval, countsStill: CountsStill = () => true): StageProgress {
  const given = approval.decisions.filter((one) => one.verdict === 'approve' && countsStill(one));
  const counted: ApprovalDecision[] = [];
  const principals = new Set<string>();
  for (const [index, stage] of approval.stages.entries()) {
    let missing = stage.need;
    for (const decision of given) {
      const principal = deciderOf(decision);
      if (missing === 0) break;
      if (principals.has(principal) || !mayApproveIn(approval, stage, { ...toApprover(decision), via: decision.via })) {
        continue;
      }
      principals.add(principal);
      counted.push(decision);
      missing--;
    }
    if (missing > 0) return { stage: index, counted };
  }
  return { stage: approval.stages.length, counted };
}

/** The agent that requested an approval. */
type RequestingAgent = Partial<Pick<StagedApproval, 'agent'>>;

/** Returns true for an approver with the name of the agent that requested the approval. */
const isAgentOf = ({ agent }: RequestingAgent, { id }: Approver): boolean =>
  agent !== undefined && id === callerName({ id: 'library', agent });

/** Returns true if an identity is one of the approvers of a stage, and the rule does not exclude it as the requester. */
export function mayApproveIn(
  requested: Pick<StagedApproval, 'notRequester' | 'approvalRule' | 'principal'> & RequestingAgent,
  stage: ApprovalStage,
  identity: Approver & { readonly via?: string },
): boolean {
  const { notRequester, approvalRule, principal } = requested;
  const isRequester = vaultPrincipal(identity) === principal || isAgentOf(requested, identity);
  if (isRequester && notRequester) return false;
  // Without a rule the requester may approve by the form of its client.
  if (isRequester && approvalRule === undefined && identity.via === BY_FORM) return true;
  return isApproverIn(stage, identity);
}

/** Returns true if an identity matches one of the approvers of a stage. All names of the owner mean one identity. */
export const isApproverIn = ({ approvers }: Pick<ApprovalStage, 'approvers'>, identity: Approver): boolean =>
  approvers.some((pattern) => isApprover(pattern, identity));

function isApprover(pattern: string, identity: Approver): boolean {
  if (pattern.startsWith('role:')) return identity.roles.some((role) => pattern === `role:${role}`);
  return pattern === identity.id || (isOwnerName(pattern) && vaultPrincipal(identity) === OWNER_PRINCIPAL);
}

/** Returns true for `owner`, `library` and `local:<user>`. */
export const isOwnerName = (pattern: string): boolean =>
  vaultPrincipal({ id: pattern, roles: ['owner'] }) === OWNER_PRINCIPAL;

const toApprover = ({ by, roles }: ApprovalDecision): Approver => ({ id: by, roles });

/** Returns the principal that made a decision. */
export const deciderOf = (decision: ApprovalDecision): string => vaultPrincipal(toApprover(decision));
