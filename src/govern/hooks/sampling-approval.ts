import type { Taint } from '../../core/call/facts.ts';
import { reportWaiting } from '../../core/call/report-waiting.ts';
import type { Continuation, DecidedCall, InputRequest, ResolvedCall, Result } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import type { ApprovalFlow } from '../approvals/approval-flow.ts';
import { bindingOf } from '../approvals/binding.ts';
import type { HookParts } from './hook.ts';

const APPROVED: Result = {
  kind: 'complete',
  value: {},
  isError: false,
  provenance: { server: 'heddle', attempts: 1, latencyMs: 0 },
};

/** A sampling request in the result of a call. */
export interface SamplingRequest {
  readonly server: string;
  readonly key: string;
  readonly request: InputRequest;
  readonly continuation: Continuation;
}

/**
 * Waits for the approval of a sampling request, while the call of its server stays open, and tells the caller by progress.
 * Returns false if it is rejected, if its time is over or if none can be requested. The approval is bound to the exact
 * request. A task lists it again with each poll, and needs one approval for it.
 */
export async function isSamplingApproved(
  { openFlow, taints }: Pick<HookParts, 'openFlow' | 'taints'>,
  call: ResolvedCall,
  sampling: SamplingRequest,
): Promise<boolean> {
  const [flow, { approveCall }] = await Promise.all([openFlow(), import('../approvals/approve-call.ts')]);
  const taint = taints?.isTracked() ? taints.labelsOf(call.caller) : undefined;
  let asking = toAsking(call, sampling, taint);
  const isUsed = () => isUsedInTask(asking, flow);
  try {
    for (;;) {
      if (await isUsed()) return true;
      const result = await approveCall(asking, async () => APPROVED, { flow });
      if (result.kind !== 'waiting') return result.kind === 'complete';
      const endReports = reportWaiting(call, result.approval);
      await flow.settled(result.approval.id, call.signal).finally(endReports);
      asking = { ...asking, continuation: result.continuation };
    }
  } catch (thrown) {
    // The next poll of a task asks for the same approval again.
    const isCancelled = call.signal.aborted && asking.sampling?.task === undefined;
    if (isCancelled) await flow.withdraw(call.caller, asking.id).catch(() => {}); // Else it times out.
    if (!HeddleError.is(thrown) || call.signal.aborted) throw thrown;
    return isUsed(); // A concurrent poll of the task may have used the approval.
  }
}

/** Returns true if the request of a task was approved at an earlier poll. */
async function isUsedInTask(asking: DecidedCall, { box, signatureOf }: ApprovalFlow): Promise<boolean> {
  if (asking.sampling?.task === undefined) return false;
  return (await box.latest(bindingOf(asking, undefined, signatureOf)))?.status === 'used';
}

/** Returns the request as a call of its own that needs an approval. Without capabilities its requester gets no form. */
function toAsking(
  call: ResolvedCall,
  { server, key, request, continuation }: SamplingRequest,
  taint: readonly Taint[] | undefined,
): DecidedCall {
  const { continuation: _, inputResponses: __, hooked: ___, capabilities: ____, approved: _____, ...rest } = call;
  const reason = `The server ${server} asks for a message of the caller's model.`;
  const { method, params = {} } = request;
  const isTask = continuation.kind === 'task';
  return {
    ...rest,
    id: `${call.id}-sampling`, // Equal for concurrent polls of a task.
    parent: call.id,
    meta: {}, // The server has that of the call; that of a poll reaches no server.
    input: { [method]: params },
    decision: { effect: 'ask', rule: 'sampling.permission', reason, ...(taint && { taint }) },
    sampling: { server, ...(isTask && { task: { id: continuation.taskId, key } }) },
  };
}
