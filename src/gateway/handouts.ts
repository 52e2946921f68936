import type { Heddle } from '../heddle.ts';
import { type HeldCalls, type HeldCallsOptions, heldCalls } from './held-calls.ts';
import { type RequestStates, requestStates } from './request-state.ts';
import { type SealerOptions, sealer } from './seal.ts';
import { type TaskIds, taskIds } from './task-ids.ts';

/** What clients without a session are given to come back with, and what waits here until they do. */
export interface Handouts {
  readonly states: RequestStates;
  readonly tasks: TaskIds;
  readonly held: HeldCalls;
}

export function handouts(
  heddle: Pick<Heddle, 'dispatch' | 'catalog'>,
  options: SealerOptions & { readonly held?: HeldCallsOptions | undefined } = {},
): Handouts {
  const seals = sealer(options);
  return { states: requestStates(seals), tasks: taskIds(seals), held: heldCalls(heddle, options.held) };
}
