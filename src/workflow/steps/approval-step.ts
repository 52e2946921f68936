import { HeddleError } from '../../core/errors.ts';
import type { ApprovalStep, StepBase } from '../definition/canonical.ts';
import type { ApprovalEnd } from '../run/durable.ts';
import { evaluate } from './frame/evaluate.ts';
import { advanceTo, type ExecutionParts, type Frame } from './frame/frame.ts';
import { cancelledAt } from './frame/step-failure.ts';
import { lazy, type StepDone } from './frame/step-scope.ts';

/** Waits for an approver. A rejection is a result; the steps after it decide what it means. */
export async function runApproval(
  execution: ExecutionParts,
  frame: Frame,
  step: StepBase & ApprovalStep,
): Promise<StepDone> {
  const { schema, approvers, quorum, expiresMs, onExpire } = step;
  const title = await evaluate(execution, frame.scope, step.title);
  const show = step.show && (await evaluate(execution, frame.scope, step.show));
  const request = {
    title: typeof title === 'string' ? title : JSON.stringify(title),
    quorum,
    ...(show !== undefined && { show }),
    ...(schema && { schema }),
    ...(approvers && { approvers }),
    ...(expiresMs !== undefined && { expiresMs }),
  };
  const end = await execution.durable.approve(frame.path, request, frame.signal);
  if (end.kind === 'cancelled') throw cancelledAt(frame.path);
  advanceTo(frame, end.at);
  if (end.kind === 'expired' && onExpire === 'fail') {
    throw new HeddleError('APPROVAL_TIMED_OUT', `No approver decided about the step ${frame.path} in time.`, {
      fix: 'Run the workflow again and decide in time, or raise `expires`.',
    });
  }
  return { result: lazy(toResult(end)) };
}

function toResult(end: Exclude<ApprovalEnd, { readonly kind: 'cancelled' }>) {
  if (end.kind === 'expired') return { approved: false, by: [], expired: true };
  const { kind, by, note } = end;
  const content = kind === 'approved' ? end.content : undefined;
  return { ...content, approved: kind === 'approved', by, ...(note !== undefined && { note }) };
}
