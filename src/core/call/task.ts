import type { Call } from '../call.ts';

/** A round that only asks how far a server is: nothing is decided in it, and nothing given. */
export const isTaskPoll = ({ continuation, inputResponses }: Call): boolean =>
  continuation?.kind === 'task' && continuation.cancels === undefined && inputResponses === undefined;

/** How long a server may take that goes on by itself, unless the caller says so. */
export const MAX_TASK_MS = 600_000;

/** A round that only tells a server to stop. */
export const isTaskCancel = ({ continuation }: Call): boolean =>
  continuation?.kind === 'task' && continuation.cancels === true;
