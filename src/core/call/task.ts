import type { Call } from '../call.ts';

/** Returns true for a call that only polls a task (`tasks/get`), without input responses. */
export const isTaskPoll = ({ continuation, inputResponses }: Call): boolean =>
  continuation?.kind === 'task' && continuation.cancels === undefined && inputResponses === undefined;

/** The longest time that a task may run if the caller sets no timeout. */
export const MAX_TASK_MS = 600_000;

/** Returns true for a call that only cancels a task. */
export const isTaskCancel = ({ continuation }: Call): boolean =>
  continuation?.kind === 'task' && continuation.cancels === true;
