import { readdirSync } from 'node:fs';
import { constants, setPriority } from 'node:os';

const THIS_PROCESS = 0;

/** Lowers the priority of this process, so that a search of many records does not slow the calls of a gateway beside it. */
export function lowerPriority(): void {
  try {
    for (const thread of threads()) setPriority(thread, constants.priority.PRIORITY_LOW);
  } catch {
    // A sandbox may forbid it: the command then runs with its normal priority.
  }
}

/** Returns the threads of this process. On Linux each has a priority of its own, those of the garbage collector too. */
const threads = (): readonly number[] =>
  process.platform === 'linux' ? readdirSync('/proc/self/task').map(Number) : [THIS_PROCESS];
