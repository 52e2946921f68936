import type { Heddle } from '../../heddle.ts';
import { type GatewayTasks, type GatewayTasksOptions, gatewayTasks } from './gateway-tasks.ts';
import { type RequestStates, requestStates } from './request-state.ts';
import { type SealerOptions, sealer } from './seal.ts';
import { type TaskIds, taskIds } from './task-ids.ts';

/** What clients without a session are given to come back with, and what waits here until they do. */
export interface Continuations {
  readonly states: RequestStates;
  readonly tasks: TaskIds;
  readonly gatewayTasks: GatewayTasks;
}

export function openContinuations(
  heddle: Pick<Heddle, 'dispatch' | 'catalog'>,
  options: SealerOptions & { readonly held?: GatewayTasksOptions | undefined } = {},
): Continuations {
  const seals = sealer(options);
  return { states: requestStates(seals), tasks: taskIds(seals), gatewayTasks: gatewayTasks(heddle, options.held) };
}
