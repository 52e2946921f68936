import { isTaskCancel } from '../core/call/task.ts';
import type { DecidedCall, Stage } from '../core/call.ts';
import type { ApprovalFlow } from './approvals/approval-flow.ts';
import type { ApproveLookups } from './approvals/approve-call.ts';

/** Opens the flow of approvals with the first call that needs one. */
export type OpenApprovalFlow = () => Promise<ApprovalFlow>;

/**
 * Lets allowed calls pass at once, unless an approval of theirs needs its end. A call that needs an approval passes only with one: its own, a standing one, or that
 * of the user at the terminal. The response to a form never reaches a server.
 */
export function approve(openFlow: OpenApprovalFlow, options: ApproveLookups = {}): Stage<DecidedCall> {
  return function approve(call, next) {
    const isAllowed = call.decision.effect === 'allow' && !isOfApproval(call);
    if (isAllowed || isTaskCancel(call)) return next(call);
    return openFlow().then(async (flow) => {
      const { approveCall } = await import('./approvals/approve-call.ts');
      return approveCall(call, next, { flow, ...options });
    });
  };
}

/** Returns true for a call that waited for an approval, or that a server goes on with after one. */
const isOfApproval = ({ continuation }: DecidedCall): boolean =>
  continuation !== undefined && (continuation.kind === 'approval' || continuation.approved !== undefined);
