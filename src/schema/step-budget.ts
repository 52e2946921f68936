/** Counts the work that one schema causes, and throws when it is too much. */
export interface StepBudget {
  /** Begins a new check. */
  restart(): void;
  /** Throws OverBudget when fewer steps are left. */
  take(steps: number): void;
  /** Throws OverBudget when fewer pattern steps are left. */
  takePattern(steps: number): void;
}

/** The error of a budget that is used up. */
export class OverBudget extends Error {}

const MAX_STEPS = 3_000_000;
// A pattern step takes up to 60 ns once V8 has optimised the engine, and less than 30 ns in most patterns.
const MAX_PATTERN_STEPS = 6_000_000;

/** Counts the steps of one check: about 300 ms at most, and up to 360 ms for its patterns. */
export function checkBudget(): StepBudget {
  let left = MAX_STEPS;
  let patternLeft = MAX_PATTERN_STEPS;
  return {
    restart() {
      left = MAX_STEPS;
      patternLeft = MAX_PATTERN_STEPS;
    },
    take(taken) {
      left -= taken;
      // The negation makes NaN throw, too.
      if (!(left >= 0)) throw new OverBudget(`checking takes more than ${MAX_STEPS} steps`);
    },
    takePattern(taken) {
      patternLeft -= taken;
      if (patternLeft < 0) throw new OverBudget(`matching patterns takes more than ${MAX_PATTERN_STEPS} steps`);
    },
  };
}
