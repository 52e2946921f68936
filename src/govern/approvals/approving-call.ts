import type { DecidedCall, Handler, InputResponses } from '../../core/call.ts';
import type { ApprovalFlow } from './approval-flow.ts';
import type { ApprovalPlan } from './next-approval.ts';

/** A call on its way through `approve`, with the rest of the pipeline. */
export interface ApprovingCall {
  /** The call without the continuation of its approval, as it was first sent. */
  readonly call: DecidedCall;
  readonly next: Handler<DecidedCall>;
  readonly plan: ApprovalPlan;
  readonly binding: string;
  readonly inputResponses: InputResponses | undefined;
  readonly flow: ApprovalFlow;
}
