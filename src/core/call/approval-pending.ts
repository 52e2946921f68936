import type { Call } from '../call.ts';
import { HeddleError } from '../errors.ts';
import type { PendingApproval } from './approval.ts';

const CONNECT_HOST = '`heddle connect` gives a host a key with a person, who then approves in the host.';

/** Creates the error for a caller that does not wait: the approval stays open, and the same call finds it again. */
export function approvalPending(
  { name }: Pick<Call, 'name'>,
  { id, approvers, expiresAt, reason, needsPerson }: PendingApproval,
  fix = `Ask ${approvers.join(' or ')} to run \`heddle approvals approve ${id}\` in a terminal, then repeat the same call.`,
): HeddleError {
  return new HeddleError('APPROVAL_PENDING', `${name} waits for the approval ${id}. ${reason}`, {
    fix: needsPerson ? `${fix} ${CONNECT_HOST}` : fix,
    details: { approval: id, approvers, expiresAt },
  });
}
