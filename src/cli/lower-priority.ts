import { constants, getPriority, setPriority } from 'node:os';

/** Lowers the priority of this process, so that a search of many records does not slow the calls of a gateway beside it. */
export function lowerPriority(): void {
  try {
    setPriority(Math.max(getPriority(), constants.priority.PRIORITY_BELOW_NORMAL));
  } catch {
    // A sandbox may forbid it: the command then runs with its normal priority.
  }
}
