import { HeddleError } from '../errors.ts';
import type { Approval } from '../records/approval.ts';
import { oneLine } from '../text/visible-text.ts';

/**
 * Creates the error of a call whose approval was not given: rejected, not decided in time, not used in time, or void.
 * Returns undefined for an approval that is pending, approved or used.
 */
export function approvalEnded(approval: Approval): HeddleError | undefined {
  const { id, status, subject, reason, requestedAt } = approval;
  const name = oneLine(subject.name);
  const details = { approval: id };
  if (status === 'rejected') {
    const { by = 'an approver', note = '' } = approval.decisions.find(({ verdict }) => verdict === 'reject') ?? {};
    const message = `${by} rejected the call of ${name} (approval ${id}).`;
    return new HeddleError('APPROVAL_REJECTED', note === '' ? message : `${message} Note: ${oneLine(note)}`, {
      details,
    });
  }
  if (status === 'timeout') {
    const since = new Date(requestedAt).toISOString();
    const message = `No approver decided about ${name} in time: the approval ${id} was requested at ${since}.`;
    return new HeddleError('APPROVAL_TIMED_OUT', message, { details });
  }
  if (status === 'expired') {
    return new HeddleError('APPROVAL_TIMED_OUT', `${name} was approved (${id}), but not called in time.`, { details });
  }
  if (status !== 'void') return undefined;
  const message =
    `The approval ${id} of ${name} no longer holds. ${reason === undefined ? '' : oneLine(reason)}`.trimEnd();
  return new HeddleError('APPROVAL_REJECTED', message, { fix: 'Call again to request another approval.', details });
}
