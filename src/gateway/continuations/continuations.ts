import type { Heddle } from '../../heddle.ts';
import { type GatewayTasks, type GatewayTasksOptions, gatewayTasks } from './gateway-tasks.ts';
import { type RequestStates, requestStates } from './request-state.ts';
import { type SealerOptions, sealer } from './seal.ts';
import { type TaskIds, taskIds } from './task-ids.ts';

/** The continuations of modern clients: sealed `requestState`s, sealed task ids, and the tasks of this gateway. */
export interface Continuations {
  readonly states: RequestStates;
  readonly tasks: TaskIds;
  readonly gatewayTasks: GatewayTasks;
}

export interface ContinuationsOptions extends SealerOptions {
  readonly gatewayTasks?: GatewayTasksOptions | undefined;
}

export function openContinuations(
  heddle: Pick<Heddle, 'dispatch' | 'catalog'>,
  options: ContinuationsOptions = {},
): Continuations {
  const seals = sealer(options);
  return {
    states: requestStates(seals),
    tasks: taskIds(seals),
    gatewayTasks: gatewayTasks(heddle, options.gatewayTasks),
  };
}
