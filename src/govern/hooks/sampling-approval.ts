import { reportWaiting } from '../../core/call/report-waiting.ts';
import type { DecidedCall, InputRequest, ResolvedCall, Result } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import type { OpenApprovalFlow } from '../approve.ts';

const APPROVED: Result = {
  kind: 'complete',
  value: {},
  isError: false,
  provenance: { server: 'heddle', attempts: 1, latencyMs: 0 },
};

/**
 * Waits for the approval of a sampling request, while the call of its server stays open, and tells the caller by progress.
 * Returns false if it is rejected, if its time is over or if none can be requested. The approval is bound to the exact
 * request.
 */
export async function isSamplingApproved(
  openFlow: OpenApprovalFlow,
  call: ResolvedCall,
  { server, request }: { readonly server: string; readonly request: InputRequest },
): Promise<boolean> {
  const [flow, { approveCall }] = await Promise.all([openFlow(), import('../approvals/approve-call.ts')]);
  let asking = toAsking(call, server, request);
  try {
    for (;;) {
      const result = await approveCall(asking, async () => APPROVED, flow);
      if (result.kind !== 'waiting') return result.kind === 'complete';
      const endReports = reportWaiting(call, result.approval);
      await flow.settled(result.approval.id, call.signal).finally(endReports);
      asking = { ...asking, continuation: result.continuation };
    }
  } catch (thrown) {
    if (!HeddleError.is(thrown) || call.signal.aborted) throw thrown;
    return false;
  }
}

/** Returns the request as a call that needs an approval. Without capabilities its requester gets no form. */
function toAsking(call: ResolvedCall, server: string, { method, params = {} }: InputRequest): DecidedCall {
  const { continuation: _, inputResponses: __, hooked: ___, capabilities: ____, approved: _____, ...rest } = call;
  const reason = `The server ${server} asks for a message of the caller's model.`;
  return { ...rest, input: { [method]: params }, decision: { effect: 'ask', rule: 'sampling.permission', reason } };
}
