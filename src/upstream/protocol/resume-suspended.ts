import type { ResolvedCall, Result } from '../../core/call.ts';
import { completeResult } from '../call-request.ts';
import type { LegacyCall } from '../elicitation/pending-call.ts';
import type { SuspendedCalls } from '../elicitation/suspended-calls.ts';
import { toFailure } from '../failure.ts';
import { withoutTask } from '../legacy-task.ts';

/** Continues the suspended call of a ticket, on whichever connection it waits. */
export async function resumeSuspended(suspendedCalls: SuspendedCalls, call: ResolvedCall): Promise<Result> {
  const { legacyCall, inputResponses } = suspendedCalls.take(call);
  legacyCall.resume(call, inputResponses);
  try {
    return await resultOrSuspend(legacyCall, call, suspendedCalls);
  } catch (thrown) {
    throw toFailure(legacyCall.server, thrown);
  }
}

/** Waits for the result of a call. Suspends it when the server sends input requests. */
export async function resultOrSuspend(
  legacyCall: LegacyCall,
  call: ResolvedCall,
  suspendedCalls: SuspendedCalls,
): Promise<Result> {
  const startedAt = performance.now();
  const { server } = legacyCall;
  const step = await legacyCall.next();
  if (step.kind === 'answered') return completeResult(server, withoutTask(step.value), startedAt);
  const ticket = suspendedCalls.suspend(legacyCall, call);
  const { inputRequests, withdrawn } = step;
  return { kind: 'input-required', inputRequests, withdrawn, continuation: { kind: 'suspended', server, ticket } };
}
