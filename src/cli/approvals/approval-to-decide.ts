import type { Caller } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import type { Approval } from '../../core/records/approval.ts';
import { refusedApprover } from '../../core/refused-approver.ts';
import type { Approvals } from '../../heddle.ts';

/** Finds the approval that a caller wants to approve. Throws PERMISSION_DENIED before a user reads and confirms it. */
export async function approvalToDecide(approvals: Pick<Approvals, 'get'>, by: Caller, id: string): Promise<Approval> {
  const approval = await approvals.get(by, id).catch((thrown) => {
    throw isHidden(thrown, by) ? onlyOwn(by, id) : thrown;
  });
  if (approval.decidable !== false) return approval;
  throw refusedApprover(approval, by);
}

const DECIDERS = ['owner', 'approver', 'auditor'];

const isHidden = (thrown: unknown, { roles }: Caller) =>
  HeddleError.is(thrown) && thrown.code === 'NAME_UNKNOWN' && !roles.some((role) => DECIDERS.includes(role));

const onlyOwn = ({ id: by, roles }: Caller, id: string) =>
  new HeddleError(
    'PERMISSION_DENIED',
    `${by} has the role ${roles.join(', ')} and may not decide about approvals of other callers. It has none of its own that begins with ${id}.`,
    { fix: 'Use the key of an approver: `heddle key create NAME --role approver` makes one.' },
  );
