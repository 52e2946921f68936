import { canHandle, hasAnyCapability } from '../../core/call/client-capabilities.ts';
import type { ClientCapabilities, ResolvedCall } from '../../core/call.ts';
import type { LegacyCall, OpenInputRequest } from '../elicitation/pending-call.ts';

/** A call in flight during which the server may send input requests. */
export interface RunningCall {
  readonly legacyCall: LegacyCall;
  readonly capabilities: ClientCapabilities;
  readonly principal: string;
  readonly onElicitationComplete: ResolvedCall['onElicitationComplete'];
}

/** The hints of a server request about the call it belongs to. */
interface RequestHint {
  readonly relatedRequestId?: number | undefined;
  readonly taskId?: unknown;
}

/** The calls of one connection during which the server may send input requests. */
export interface RunningCalls {
  readonly running: Set<RunningCall>;
  /** Finds the call of a server request. Without a hint it guesses: all calls of a connection have one principal. */
  ownerOf(hint: RequestHint): RunningCall | undefined;
  /** Moves an open input request to another call; false when no call can take it. */
  handOver(one: OpenInputRequest): boolean;
  /** True once the server has sent a request without a hint during a call. */
  sendsUnrelatedRequests(): boolean;
}

export function runningCalls(): RunningCalls {
  const running = new Set<RunningCall>();
  let isUnrelated = false;

  function ownerOf({ relatedRequestId, taskId }: RequestHint): RunningCall | undefined {
    const all = [...running];
    if (taskId !== undefined) return all.find(({ legacyCall }) => legacyCall.taskId === taskId);
    if (relatedRequestId !== undefined) return all.find(({ legacyCall }) => legacyCall.id === relatedRequestId);
    if (all.length > 0) isUnrelated = true;
    // A read gets no input requests, so a request belongs to another call.
    const candidates = all.filter(({ capabilities }) => hasAnyCapability(capabilities));
    const active = candidates.filter(({ legacyCall }) => legacyCall.isActive);
    return active.find(({ legacyCall }) => !legacyCall.isWaitingForInput) ?? active[0] ?? candidates[0] ?? all[0];
  }

  return {
    running,
    ownerOf,
    handOver(one) {
      const owner = ownerOf({});
      return owner !== undefined && canHandle(owner.capabilities, one.inputRequest) && owner.legacyCall.adopt(one);
    },
    sendsUnrelatedRequests: () => isUnrelated,
  };
}
