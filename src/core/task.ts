import type { Call } from './call.ts';

/** The extension of MCP by which either side says that it knows tasks. */
export const TASKS = 'io.modelcontextprotocol/tasks';

/** A round that only asks how far a server is: nothing is decided in it, and nothing given. */
export const isLook = ({ from, answers }: Call): boolean =>
  from?.kind === 'task' && from.cancels === undefined && answers === undefined;

/** How long a server may take that goes on by itself, unless the caller says so. */
export const LONGEST_TASK_MS = 600_000;

/** A round that only tells a server to stop. */
export const isStop = ({ from }: Call): boolean => from?.kind === 'task' && from.cancels === true;
