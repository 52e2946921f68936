/** Counts the work that one schema causes. Throws when it is too much. */
export interface StepBudget {
  /** Begins a new check. */
  restart(): void;
  /** Throws when fewer steps are left. */
  take(steps: number): void;
  /** Returns false, and takes nothing, when fewer pattern steps are left. */
  takePattern(steps: number): boolean;
}

const MAX_STEPS = 1_000_000;
// A pattern step takes 100 to 250 ns: the matcher is an interpreter.
const MAX_PATTERN_STEPS = 1_000_000;
const MAX_COMPILE_STEPS = 10_000;

/** Counts the steps of one check: about 100 ms at most, and as much again for its patterns. */
export function checkBudget(): StepBudget {
  return budgetOf(MAX_STEPS, 'checking');
}

/** Counts the steps of one compilation: references and lists may be small in the schema and large in code. */
export function compileBudget(): StepBudget {
  return budgetOf(MAX_COMPILE_STEPS, 'compiling it');
}

function budgetOf(steps: number, work: string): StepBudget {
  let left = steps;
  let patternLeft = MAX_PATTERN_STEPS;
  return {
    restart() {
      left = steps;
      patternLeft = MAX_PATTERN_STEPS;
    },
    take(taken) {
      left -= taken;
      // Written so that a count that is no number throws, too.
      if (!(left >= 0)) throw new Error(`${work} takes more than ${steps} steps`);
    },
    takePattern(taken) {
      if (taken > patternLeft) return false;
      patternLeft -= taken;
      return true;
    },
  };
}
