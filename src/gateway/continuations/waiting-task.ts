import { approvalEnded } from '../../core/call/approval-ended.ts';
import { waitingMessage } from '../../core/call/report-waiting.ts';
import type { Call, JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import type { Approval } from '../../core/records/approval.ts';
import type { Clock } from '../../core/time.ts';
import type { Heddle } from '../../heddle.ts';
import { POLL_MS, toEnd } from './gateway-task.ts';
import type { GatewayTasks } from './gateway-tasks.ts';
import type { GatewayTaskRoute } from './task-ids.ts';

/** Tasks that wait for an approval, and that this gateway does not keep: it was restarted, or is another replica. */
export interface WaitingTasks {
  /** Describes such a task. An approved one runs from now on. Returns undefined if its gateway ran it, or it is unknown. */
  describe(route: GatewayTaskRoute, call: Call): Promise<JsonObject | undefined>;
}

// The gateway that keeps the task runs it within 0.5 s of the decision, if it still lives.
const OWNER_MS = 2000;

export function waitingTasks(
  { approvals }: Pick<Heddle, 'approvals'>,
  gatewayTasks: Pick<GatewayTasks, 'resume' | 'find'>,
  clock: Clock = Date.now,
): WaitingTasks {
  return {
    async describe(route, call) {
      const { approval, isCancelled } = (await approvals.ofCall(call.caller, call.id)) ?? {};
      if (!approval || approval.callId === call.id) return undefined;
      if (isCancelled) return describeApproval(approval, { status: 'cancelled' });
      if (approval.status === 'used') return undefined;
      const ended = approvalEnded(approval);
      if (ended) return describeApproval(approval, toEnd(ended, call));
      const isReady = approval.status === 'approved' && clock() - approvedAt(approval) > OWNER_MS;
      // Another request may have resumed it meanwhile.
      const task =
        gatewayTasks.find(route.ticket, call) ?? (isReady && gatewayTasks.resume(approvedCall(approval, call), route));
      return task ? task.describe() : describeApproval(approval, working(approval));
    },
  };
}

/** Returns the call that was approved, not the `_meta` of the poll. Hooks change the original arguments again. */
function approvedCall({ id, subject }: Approval, call: Call): Call {
  const { changedByHooks, arguments: input, extraParams, meta = {} } = subject;
  return {
    ...call,
    input: changedByHooks ?? (isObject(input) ? input : {}),
    meta,
    ...(extraParams && { extraParams }),
    acceptsTask: true,
    continuation: { kind: 'approval', id },
  };
}

const approvedAt = ({ decisions }: Approval) => Math.max(0, ...decisions.map(({ at }) => at));

function working(approval: Approval): JsonObject {
  const { id, status, stages, decisions } = approval;
  if (status === 'approved') return { status: 'working' };
  const isOpen = ({ need }: Approval['stages'][number], at: number) =>
    decisions.filter(({ stage, verdict }) => stage === at && verdict === 'approve').length < need;
  const approvers = stages.find(isOpen)?.approvers ?? ['an approver'];
  return { status: 'working', statusMessage: waitingMessage({ id, approvers }) };
}

/** Returns the task object of an approval, without its id. */
function describeApproval({ requestedAt, expiresAt, settledAt }: Approval, state: JsonObject): JsonObject {
  return {
    ...state,
    createdAt: new Date(requestedAt).toISOString(),
    lastUpdatedAt: new Date(settledAt ?? requestedAt).toISOString(),
    ttlMs: Math.max(expiresAt - requestedAt, 0),
    pollIntervalMs: POLL_MS,
  };
}
