import type { Heddle } from '../../heddle.ts';
import { type ApprovalWaits, type ApprovalWaitsOptions, approvalWaits } from './approval-waits.ts';
import { type GatewayTasks, type GatewayTasksOptions, gatewayTasks } from './gateway-tasks.ts';
import { type RequestStates, requestStates } from './request-state.ts';
import { type SealerOptions, sealer } from './seal.ts';
import { type TaskIds, taskIds } from './task-ids.ts';

/** How calls go on: sealed `requestState`s and task ids of modern clients, gateway tasks, and waits for approvers. */
export interface Continuations {
  readonly states: RequestStates;
  readonly tasks: TaskIds;
  readonly gatewayTasks: GatewayTasks;
  readonly waits: ApprovalWaits;
  /** Answers calls that wait for an approver, and cancels the gateway tasks: clients can no longer poll them. */
  close(): void;
}

export interface ContinuationsOptions extends SealerOptions {
  readonly gatewayTasks?: GatewayTasksOptions | undefined;
  readonly waits?: ApprovalWaitsOptions | undefined;
}

export function openContinuations(
  heddle: Pick<Heddle, 'dispatch' | 'catalog' | 'approvals' | 'access'>,
  options: ContinuationsOptions = {},
): Continuations {
  const seals = sealer(options);
  const waits = approvalWaits(heddle, options.waits);
  const tasks = gatewayTasks({ heddle, waits }, options.gatewayTasks);
  return {
    states: requestStates(seals),
    tasks: taskIds(seals),
    gatewayTasks: tasks,
    waits,
    close() {
      waits.close();
      tasks.close();
    },
  };
}
