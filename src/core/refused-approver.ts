import { vaultPrincipal } from './call/vault-principal.ts';
import type { Caller } from './call.ts';
import { HeddleError } from './errors.ts';
import type { Approval } from './records/approval.ts';

type Identity = Pick<Caller, 'id' | 'roles'>;

/** Creates the error for an identity that may not approve now: it has approved before, made the call, or is no approver. */
export function refusedApprover(approval: Approval, by: Identity): HeddleError {
  const { id, status } = approval;
  const names = currentApprovers(approval).join(' or ');
  const [message, fix] = hasApproved(approval, by)
    ? [
        `${by.id} has already approved ${id}, and each identity counts once.`,
        `Ask another approver to decide: ${names}.`,
      ]
    : isExcluded(approval, by)
      ? [
          `${by.id} may not approve ${id}, because it made the call itself.`,
          `Ask another approver to decide: ${names}.`,
        ]
      : [`${by.id} may not decide about the approval ${id}.`, `Ask ${names} to decide.`];
  return new HeddleError('PERMISSION_DENIED', message, { fix, details: { approval: id, status } });
}

const hasApproved = ({ decisions }: Approval, by: Identity): boolean =>
  decisions.some(
    (one) => one.verdict === 'approve' && vaultPrincipal({ id: one.by, roles: one.roles }) === vaultPrincipal(by),
  );

/** Tests whether the rule excludes the requester, and this is it. All names of the owner mean one identity. */
const isExcluded = ({ notRequester, requestedBy }: Approval, by: Identity): boolean =>
  notRequester && vaultPrincipal({ id: requestedBy, roles: by.roles }) === vaultPrincipal(by);

/** Returns the approvers of the first stage that lacks decisions. */
function currentApprovers({ stages, decisions }: Approval): readonly string[] {
  const given = (stage: number) => decisions.filter((one) => one.verdict === 'approve' && one.stage === stage).length;
  const current = stages.find(({ need }, stage) => given(stage) < need);
  return [...new Set((current ? [current] : stages).flatMap(({ approvers }) => approvers))];
}
