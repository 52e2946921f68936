import type { Call } from '../call.ts';
import { HeddleError } from '../errors.ts';
import type { PendingApproval } from './approval.ts';

/** Creates the error for a caller that does not wait: the approval stays open, and the same call finds it again. */
export function approvalPending(
  { name }: Pick<Call, 'name'>,
  { id, approvers, expiresAt, reason }: PendingApproval,
  fix = `Ask ${approvers.join(' or ')} to decide, then repeat the same call.`,
): HeddleError {
  return new HeddleError('APPROVAL_PENDING', `${name} waits for the approval ${id}. ${reason}`, {
    fix,
    details: { approval: id, approvers, expiresAt },
  });
}
